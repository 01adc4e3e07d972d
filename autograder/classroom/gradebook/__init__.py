"""nbgrader's gradebook: the course directory, its database, deadlines and grades."""
