"""What crosses the pipe between checker and sandbox."""
