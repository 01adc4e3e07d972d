"""One submission to one verdict, from finding it to its record; and many of them side by side."""
