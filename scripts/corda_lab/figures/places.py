"""Where figures, repeats and the book are."""

from dataclasses import dataclass
from pathlib import Path

from corda_lab.figures.file import SWEEPS, Figure, find_figure, read_figures
from corda_lab.figures.published import FIGURES
from corda_lab.paths import REPRODUCTION, RESULTS


@dataclass(frozen=True)
class Places:
    """The folders of ``lab reproduce``. Tests have their own."""

    figures: Path = FIGURES
    sweeps: Path = SWEEPS
    repeats: Path = REPRODUCTION
    results: Path = RESULTS

    @property
    def document(self) -> Path:
        """``docs/reproduction.md``."""
        return self.repeats.with_suffix(".md")

    @property
    def pictures(self) -> Path:
        """The folder of the pictures of the document."""
        return self.repeats / "img"

    @property
    def html(self) -> Path:
        """``results/reproduction.html``."""
        return self.results / "reproduction.html"

    @property
    def pages(self) -> Path:
        """The folder of the pages of all figures."""
        return self.results / "reproduction"

    def read_figures(self) -> list[Figure]:
        """Read all figures, in the order of their names. Raises LabError with the problems of all files."""
        return read_figures(self.figures, self.sweeps)

    @classmethod
    def of_figure(cls, name: str) -> "tuple[Places, str]":
        """Return the folders and the name of a figure. A path of a file of one's own has its sweeps beside it."""
        path = Path(name)
        if path.suffix != ".yaml" or not path.is_file():
            return cls(), name
        sweeps = path.resolve().parent / "sweeps"
        return cls(figures=path.resolve().parent, sweeps=sweeps if sweeps.is_dir() else SWEEPS), path.stem

    def find_figure(self, name: str) -> Figure:
        """Read the figure of a name. Raises LabError."""
        return find_figure(name, self.figures, self.sweeps)
