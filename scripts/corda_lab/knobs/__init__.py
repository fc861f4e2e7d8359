"""Settings that a user can change. Each is declared once, with its name, kind, default and label."""
