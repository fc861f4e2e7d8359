"""``python -m corda_lab.knobs``: write into ``.env`` and ``docs/operations.md`` what is declared in ``shape``."""

from corda_lab.knobs import files
from corda_lab.paths import ROOT


def main() -> None:
    """Write both files, and name those that changed."""
    for path in files.write():
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
