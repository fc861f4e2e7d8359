"""Statistics: confidence intervals, differences between two points, the end of a warm-up."""
