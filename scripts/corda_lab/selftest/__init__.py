"""Tests of the lab itself: its test suite, the matrix of versions, its statistics and its overhead."""
