"""Scripts that run inside containers, with nothing but Python's standard library. Their text is passed to Python."""
