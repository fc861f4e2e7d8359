"""What a container may do that only reads files."""

READER = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"),
    *("--memory=64m", "--pids-limit=32"),
)
"""Options of ``docker run`` for it."""
