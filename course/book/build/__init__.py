"""Executes pages, draws stills, and builds the HTML, PDF and notebook versions of the book."""
