"""`expect` and what it compares with: values, tolerances, renamings, statistics."""
