"""Statistics: intervals, differences, the end of a warm-up."""
