"""Words for people: the terminal, units, durations, the shape of a lab."""
