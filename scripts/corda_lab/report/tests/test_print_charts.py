"""Charts for papers: drawn without a screen, from the series of the report, and the same every time."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import PARTIES
from corda_lab.report import palette, print_charts, rendering
from corda_lab.report.chart import PATTERNS, Chart, Trace
from corda_lab.results import stored
from support.sweeps import SimulatedSweep, store_sweep

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_sweep_s_main_charts_become_png_and_svg(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2)))
    paths = print_charts.write(run, tmp_path / "charts")
    names = {path.name for path in paths}
    assert {"curve-throughput.png", "curve-p99.svg", "throughput-latency.svg", "stages.png", "cost.svg"} <= names
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(PNG) if path.suffix == ".png" else b"</svg>" in content
    again = print_charts.write(run, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_a_single_run_has_charts_too(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    names = {path.stem for path in print_charts.write(stored.read(stored_run()), tmp_path / "charts")}
    assert names == set(print_charts.RUN_CHARTS)


def test_every_part_of_the_largest_lab_has_a_colour_of_its_own_on_screen_and_paper() -> None:
    parts = ["notary", *map(str.lower, PARTIES), "bridge", "locust", "prometheus", "postgresql"]
    names = [f"node-{part}" for part in parts]
    for theme in (palette.LIGHT, palette.DARK):
        patterns = PATTERNS
        looks = {(theme[name], patterns[place % len(patterns)]) for place, name in enumerate(names)}
        assert len(looks) == len(parts)


def test_the_page_has_every_colour_that_its_style_uses_in_both_themes() -> None:
    style = rendering.text_of("report.css")
    assert set(re.findall(r"var\(--([\w-]+)\)", style)) <= set(palette.ROLES)
    colours = palette.css()
    assert [role for role in palette.ROLES if colours.count(f"--{role}: ") != 2] == []


def test_bars_are_as_wide_as_a_bin_where_bins_are_left_out() -> None:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    axes = Figure().subplots()
    trace = Trace("requests", "main", [0.0, 40.0, 50.0], [3.0, 1.0, 2.0], kind="bars")
    print_charts.bars(axes, Chart("id", "title", "caption", "requests", [trace]), trace, trace.x, {})
    assert {patch.get_bbox().width for patch in axes.patches if isinstance(patch, Rectangle)} == {10.0}


def test_bytes_have_a_unit_and_no_factor_above_the_axis() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    trace = Trace("heap", "main", [1.0, 4.0], [0.0, 2e8])
    print_charts.draw(axes, Chart("id", "title", "caption", "bytes", [trace]))
    formatter = axes.yaxis.get_major_formatter()
    assert (formatter.format_data(2e8), formatter.get_offset()) == ("200 MB", "")


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["H2", "PostgreSQL"], 2),
        (["2 users", "4 users", "8 users", "16 users", "32 users"], 4),
        (["published: attachments, cached, a hundred at once", "here: not cached", "here: cached"], 2),
        (["published: attachments, cached, a hundred at once", "here: attachments, not cached"], 1),
        (["published: OS", "published: CE", "here: at most 128 outstanding", "here: at most 10,000 outstanding"], 2),
    ],
)
def test_a_legend_is_no_wider_than_its_sheet(names: list[str], columns: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert print_charts.legend_columns(names, print_charts.WIDTH_INCHES) == columns
    sheet = Figure(figsize=(print_charts.WIDTH_INCHES, print_charts.HEIGHT_INCHES), layout="constrained")
    axes = sheet.subplots()
    traces = [Trace(name, "main", [1.0, 2.0], [1.0, 2.0], kind="line") for name in names]
    print_charts.draw(axes, Chart("id", "title", "caption", "x", traces))
    FigureCanvasAgg(sheet).draw()
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_window_extent().width <= sheet.bbox.width


def test_a_place_that_cannot_be_written_is_named(stored_run: Callable[..., Path], tmp_path: Path) -> None:
    taken = tmp_path / "charts"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(LabError, match=r"^--charts: .* cannot be written"):
        print_charts.write(stored.read(stored_run()), taken)
