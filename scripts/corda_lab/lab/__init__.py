"""The Compose project: its settings, shape and images, and how it is started and stopped."""
