"""Find submissions in what a learning platform or a folder holds, and whose each file is."""
