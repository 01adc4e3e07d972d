"""The data of single figures, computed when a page is built."""
