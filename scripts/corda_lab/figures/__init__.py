"""Published figures: what a document says, the claims in it, and the verdict of the lab's own repeats on each claim."""
