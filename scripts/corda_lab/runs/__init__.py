"""One load on the running lab: drive it, read every counter, and return what it came to."""
