"""The lab tests itself: its test suite, its matrix of versions, its statistics and what it costs."""
