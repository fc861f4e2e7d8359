"""``python -m corda_lab.knobs``: update ``.env`` and ``docs/operations.md`` from the declarations in ``shape``."""

from corda_lab.knobs import files
from corda_lab.paths import ROOT


def main() -> None:
    """Update both files, and print the names of those that changed."""
    for path in files.write():
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
