"""Text that users read: terminal output, numbers with units, durations."""
