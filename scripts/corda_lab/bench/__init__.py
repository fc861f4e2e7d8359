"""Files of trials, and what became of the flows of a load during which a part of the lab was killed."""
