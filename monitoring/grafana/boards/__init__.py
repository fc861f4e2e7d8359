"""The dashboards of the lab, as Python. ``python -m grafana.boards`` writes the files that Grafana reads.

``model`` says what a board consists of, ``shared`` has the panels of several boards, and each board has a module.
"""

from pathlib import Path

from grafana.boards import corda_node, database, load_generator, overview, runs

FOLDER = Path(__file__).parent.parent / "dashboards"
"""The files of the boards, which Compose mounts into Grafana's container."""
BOARDS = (overview.BOARD, corda_node.BOARD, database.BOARD, load_generator.BOARD, runs.BOARD)
"""All boards, from general to specific."""
