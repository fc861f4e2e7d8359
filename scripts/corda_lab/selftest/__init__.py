"""Tests of the lab itself: its test suite, the matrix of versions, and its statistics."""
