"""Measures the lab itself, beside what people would use instead: ``lab bench``."""
