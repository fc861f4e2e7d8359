"""Writes the boards to ``monitoring/grafana/dashboards/``: ``PYTHONPATH=monitoring python -m grafana.boards``."""

from grafana.boards import BOARDS, FOLDER
from grafana.boards.render import text_of


def main() -> None:
    """Write every board, and delete the files of boards that there are no more."""
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for board in BOARDS:
        (FOLDER / f"{board.uid}.json").write_text(text_of(board), encoding="utf-8")


if __name__ == "__main__":
    main()
