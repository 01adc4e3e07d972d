"""Grade many submissions side by side: on this machine, or on workers of Dask."""
