"""What a person can set, each thing declared once: its name, its kind, its default, and how it is written."""
