"""Makes faults in a running lab, and heals them, also if the command that made them is killed."""
