"""A student's code as a check sees it, at home and in the sandbox."""
