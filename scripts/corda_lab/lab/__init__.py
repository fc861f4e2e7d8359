"""The Compose project: its settings, its shape, its images, its start and its end."""
