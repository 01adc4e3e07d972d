"""What an author of exercises uses: the catalogue of `solutions/`, notebooks made from it, tables
of mistakes.
"""
