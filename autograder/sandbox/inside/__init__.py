"""Code that is shipped into the sandbox and runs next to the student's."""
