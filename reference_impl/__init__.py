"""The model answers of the course, in the order in which the book builds them; see
`corpora` first.
"""
