"""Support for the tests. Nothing outside the tests may import it."""
