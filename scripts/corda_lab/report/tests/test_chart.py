"""Charts as pictures: on pages in the colours of the theme, on paper in light ones, and the same every time."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import PARTIES
from corda_lab.report import chart, drawing, page, palette, rendering
from corda_lab.report.chart import PATTERN_COUNT, Chart, Look, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.results import stored
from support.sweeps import SimulatedSweep, store_sweep

PNG = b"\x89PNG\r\n\x1a\n"
POINTS = points_frame(
    [
        {"series": "H2 & more", "x": 1.0, "y": 5.0, "low": 4.0, "high": 6.0, "is_hollow": False, "label": "4 < 5"},
        {"series": "H2 & more", "x": 2.0, "y": 8.0, "is_hollow": True, "label": "hollow"},
        {"series": "PostgreSQL", "x": 1.0, "y": 3.0, "low": 2.0, "high": 40.0, "is_hollow": False},
    ]
)
CURVES = Chart(
    "curves", "Curves", "", "flows/s", POINTS, {"H2 & more": look_of(0), "PostgreSQL": look_of(1)}, x_title="users"
)


def texts(svg: str, tag: str = "text") -> list[str]:
    return [found.text or "" for found in ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]


def test_a_picture_names_its_axes_and_series_and_shows_values_on_hover() -> None:
    assert {"users", "flows/s", "H2 & more", "PostgreSQL"} <= set(texts(drawing.svg(CURVES)))
    assert texts(drawing.svg(CURVES), "title") == ["4 < 5", "hollow", "PostgreSQL: 3.0 flows/s"]


def test_a_picture_on_a_page_has_only_colours_of_the_theme() -> None:
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing.svg(CURVES))) - {"none", "transparent"}
    assert colours
    assert [colour for colour in colours if not re.fullmatch(r"var\(--[\w-]+\)", colour)] == []


def test_an_axis_ends_before_an_interval_that_would_flatten_the_curve() -> None:
    bounded = chart.bounded(CURVES)
    assert bounded.y_max == 16
    assert "20" in texts(drawing.svg(CURVES))
    assert "20" not in texts(drawing.svg(bounded))
    assert chart.bounded(replace(CURVES, frame=POINTS.head(2))).y_max is None


def test_lines_over_time_show_all_their_values_at_a_place_on_hover() -> None:
    frame = pl.DataFrame({"series": ["a", "a", "b", "b"], "x": [0.0, 5.0, 0.0, 5.0], "y": [1.0, 2.0, 3.0, None]})
    drawn = Chart("lines", "Lines", "", "cores", frame, {"a": Look("main"), "b": Look("second")})
    assert texts(drawing.svg(drawn), "title") == ["0 s: a 1; b 3 (cores)", "5 s: a 2 (cores)"]


def test_bytes_have_a_unit() -> None:
    drawn = replace(CURVES, y_title="bytes", frame=POINTS.with_columns(pl.col("y", "low", "high") * 1e6))
    assert "10 MB" in texts(drawing.svg(drawn))


def test_a_sweep_s_main_charts_become_png_and_svg(tmp_path: Path) -> None:
    run = stored.read(store_sweep(tmp_path, SimulatedSweep(vary={"load.users": [2, 8]}, repeats=2)))
    charts = page.printed_charts(run)
    paths = drawing.write(charts, tmp_path / "charts")
    names = {path.name for path in paths}
    assert {"curve-throughput.png", "curve-p99.svg", "throughput-latency.svg", "stages.png", "cost.svg"} <= names
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(PNG) if path.suffix == ".png" else b"var(" not in content
    again = drawing.write(charts, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_a_single_run_has_charts_for_papers_too(stored_run: Callable[..., Path]) -> None:
    assert tuple(chart.id for chart in page.printed_charts(stored.read(stored_run()))) == page.PRINTED


def test_every_part_of_the_largest_lab_has_a_colour_of_its_own_on_screen_and_paper() -> None:
    parts = ["notary", *map(str.lower, PARTIES), "bridge", "locust", "prometheus", "postgresql"]
    for theme in (palette.LIGHT, palette.DARK):
        looks = {(theme[f"node-{part}"], place % PATTERN_COUNT) for place, part in enumerate(parts)}
        assert len(looks) == len(parts)


def test_the_page_has_every_colour_that_its_style_uses_in_both_themes() -> None:
    style = rendering.text_of("report.css")
    assert set(re.findall(r"var\(--([\w-]+)\)", style)) <= set(palette.ROLES)
    colours = palette.css()
    assert [role for role in palette.ROLES if colours.count(f"--{role}: ") != 2] == []


def test_a_legend_is_no_wider_than_its_sheet() -> None:
    names = [f"published: attachments, cached, a hundred at once, {number}" for number in range(5)]
    frame = pl.concat(POINTS.with_columns(pl.lit(name).alias("series")) for name in names)
    wide = replace(CURVES, frame=frame, looks={name: look_of(place) for place, name in enumerate(names)})
    width, wider = (
        float(ElementTree.fromstring(drawing.svg(one)).attrib["viewBox"].split()[2]) for one in (CURVES, wide)
    )
    assert wider == width


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "charts"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(LabError, match=r"^--charts: .* cannot be written"):
        drawing.write([CURVES], taken)
