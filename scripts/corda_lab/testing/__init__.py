"""Support of the tests; nothing outside tests may import it."""
