"""Words for people: the terminal, units, durations."""
