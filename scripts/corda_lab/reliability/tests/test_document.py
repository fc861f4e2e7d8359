"""The document of the long suites, the files that it is made of, and how they get to their folder."""

from pathlib import Path

import pytest

from corda_lab.bench.file import BenchFile, store
from corda_lab.chaos.measurement import ChaosFile, ChaosTrial, PieceAudit
from corda_lab.chaos.verdict import AuditEntry
from corda_lab.errors import LabError
from corda_lab.reliability import document, pictures, stored
from corda_lab.reliability.abuse_file import AbuseFile
from corda_lab.reliability.browser_file import BrowserFile
from corda_lab.reliability.growth import Growth
from corda_lab.reliability.requests_file import RequestsFile
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.results.audits import CHECKS
from support.chaos import chaos_file
from support.runs import ENVIRONMENT

FLAT = Growth(
    name="heap after collection",
    place="PartyA",
    unit="bytes",
    statistic="live objects",
    minutes=tuple(5.0 * number for number in range(24)),
    values=tuple(3e8 + 1e5 * (-1) ** number for number in range(24)),
)
RISING = FLAT.model_copy(update={"place": "bridge", "values": tuple(3e8 * (1 + 0.01 * number) for number in range(24))})
SHORT = Growth(name="latency, p95", place="", unit="ms", statistic="p95", minutes=(1.0,), values=(120.0,))
SCATTERED = FLAT.model_copy(update={"values": tuple(3e8 * (1 + 0.05 * (-1) ** number) for number in range(24))})
HIDDEN = SCATTERED.model_copy(update={"name": "latency, p50", "place": "", "must_be_told": False})


def chaos(*trials: ChaosTrial) -> ChaosFile:
    return chaos_file(PieceAudit(verdict="passed", checks=CHECKS, trials=len(trials)), *trials)


def soak(*growths: Growth, problems: tuple[str, ...] = ()) -> SoakFile:
    return SoakFile(
        id="20260103T030405Z-soak",
        lab_version="0.3",
        environment=ENVIRONMENT,
        workload="iou",
        run="20260103T010405Z-soak",
        peak_per_second=20.0,
        rate_per_second=14.0,
        throughput_per_second=14.0,
        window_seconds=7200,
        warm_up_seconds=600,
        outcomes={"ok": 109_000, "failed": 0},
        growths=growths,
        ledger_bytes_per_flow={"PartyA": 7300.0},
        problems=problems,
    )


REQUESTS = RequestsFile(
    id="20260104T030405Z-requests",
    lab_version="0.3",
    environment=ENVIRONMENT,
    operations=9,
    wanted=10_000,
    answers={200: 90, 400: 9000, 404: 1500},
    seconds=130,
    ready_seconds=0.1,
    flows_started=0,
    ledgers_changed=[],
    live_bytes_before=50_000_000,
    live_bytes_after=51_000_000,
)
ABUSE = AbuseFile(
    id="20260104T050505Z-abuse",
    lab_version="0.2.0",
    environment=ENVIRONMENT,
    rounds=2,
    attacks={"bodies whose last byte is held back": 0.2, "a node that never answers": 4.4},
    ready_seconds=4.4,
    flows_started=0,
    ledgers_changed=[],
    live_bytes_before=50_000_000,
    live_bytes_after=51_000_000,
)
BROWSER = BrowserFile(
    id="20260104T060505Z-browser",
    lab_version="0.2.0",
    environment=ENVIRONMENT,
    answers={"start a flow": 403, "read the nodes": "blocked"},
    ready_seconds=0.0,
    flows_started=0,
    ledgers_changed=[],
    live_bytes_before=50_000_000,
    live_bytes_after=51_000_000,
)
AUDITED = AuditEntry(verdict="passed", checks=CHECKS)
TRIAL = ChaosTrial(seed=3, run="r", stored=True, outcomes={"ok": 40}, on_ledger=40, audit=AUDITED)


def test_every_kind_of_files_has_its_chapter() -> None:
    text = document.document([chaos(TRIAL), soak(FLAT), REQUESTS, ABUSE, BROWSER])
    assert "| acknowledged flows | 10,000 | 40 | 0 | 40 |" in text
    assert "These do not count" not in text
    assert "### 20260103T030405Z-soak, on H2" in text
    assert "iou, 14.00 flows/s for 2 h, after 10 min of warm-up: 70 % of 20.00" in text
    assert "Passed: nothing was seen to grow but the ledger." in text
    assert "What one flow adds to the database: PartyA 7.13 KiB." in text
    assert "| 404 | 1,500 |" in text
    assert "- answered with an error: 10,500, of 10,000 that were wanted" in text
    assert "2 attacks, each 2 times" in text
    assert "| a node that never answers | 4.4 s |" in text
    assert "| start a flow | 403 |\n| read the nodes | blocked |" in text
    assert text.endswith("Passed.\n")
    assert "(+2.0 %)" in text
    assert document.NOTHING not in text


def test_the_connections_that_a_soak_left_are_said() -> None:
    what = "Connections of clients after the load"
    text = document.document([soak(FLAT).model_copy(update={"connections_left": 1})])
    assert f"{what}: 1." in " ".join(text.split())
    assert what not in document.document([soak(FLAT)]), "a file of an earlier version does not know it"


def test_what_is_missing_is_said() -> None:
    assert document.document([]).count(document.NOTHING) == 5
    assert document.document([REQUESTS]).count(document.NOTHING) == 4


def test_trials_that_do_not_count_are_said_with_the_reason() -> None:
    failed = TRIAL.model_copy(update={"seed": 4, "problems": ("something was lost",)})
    text = document.document([chaos(TRIAL, failed)])
    assert "| trials that count | – | 1 | 0 | 1 |" in text
    assert "These do not count:\n\n- 1 trial failed\n" in text


def test_the_counts_of_every_heap_of_a_soak_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "reliability")
    monkeypatch.setattr(stored, "DOCUMENT", tmp_path / "reliability.md")
    store(soak(FLAT, RISING, SHORT), stored.FOLDER)
    old = pictures.folder() / "20200101T000000Z-soak.svg"
    old.parent.mkdir()
    old.write_text("<svg/>", encoding="utf-8")
    document.publish()
    (found,) = pictures.folder().iterdir()
    text = found.read_text(encoding="utf-8")
    assert text.count("PartyA") == 1
    assert text.count("bridge") == 1
    assert f"](reliability/img/{found.name})" in stored.DOCUMENT.read_text(encoding="utf-8")
    assert not pictures.is_drawn(soak(SHORT))
    assert "](reliability/img/" not in document.document([soak(SHORT)])


def test_a_soak_fails_for_what_grows_for_what_cannot_be_told_and_for_its_step() -> None:
    found = soak(FLAT, RISING, SHORT, SCATTERED, HIDDEN, problems=("CPU steal",))
    assert [one.verdict for one in found.growths] == ["within", "beyond", *["cannot tell"] * 3]
    reason = SCATTERED.reason
    assert reason is not None
    assert reason.startswith("the points scatter, so that a slope is seen from 3.8")
    assert found.failures == (
        "CPU steal",
        "heap after collection of bridge: beyond",
        "latency, p95: cannot tell: 1 point, and a slope needs 8",
        f"heap after collection of PartyA: cannot tell: {reason}",
    )
    text = document.document([found])
    assert "- latency, p95: cannot tell: 1 point" in text
    assert "Passed" not in text


def test_a_latency_that_the_scatter_hides_is_said_and_no_failure() -> None:
    found = soak(FLAT, HIDDEN)
    assert found.failures == ()
    text = document.document([found])
    assert "Passed: nothing was seen to grow but the ledger." in text
    assert "What cannot be told:\n\n- latency, p50: cannot tell: the points scatter" in text
    row = next(line for line in text.splitlines() if line.startswith("| latency, p50"))
    assert row.endswith("| cannot tell |")
    assert " 3.8" in row, "the smallest slope that would have been seen"


def test_a_slope_is_in_percent_of_the_mean_or_of_one() -> None:
    few = Growth(
        name="messages in queues",
        place="PartyA",
        unit="count",
        statistic="lowest",
        minutes=tuple(5.0 * number for number in range(24)),
        values=tuple(0.001 * number for number in range(24)),
    )
    assert few.slope is not None
    assert few.slope.estimate == pytest.approx(1.2), "0.012 messages an hour"
    assert RISING.slope is not None
    assert RISING.slope.estimate == pytest.approx(12 / 1.115)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"answers": {400: 9_999}}, "9,999 of 10,000 requests were answered with an error"),
        ({"answers": {400: 10_000, 500: 2, 503: 9}}, "2 answers with the status 500"),
        ({"flows_started": 1}, "1 flow started"),
        ({"flows_started": -5}, "the bridge ended meanwhile: it counts fewer flows than before"),
        ({"ledgers_changed": ["PartyB"]}, "the ledgers of PartyB changed"),
        ({"ledgers_changed": None}, "the ledgers were not counted"),
        ({"ready_seconds": 6.2}, "ready again after 6.2 s, and not within 5 s"),
        ({"live_bytes_after": 56_000_000}, "the heap after collection changed by +12.0 %"),
    ],
)
def test_what_the_bridge_did_not_keep_to_is_a_failure(found: dict[str, object], says: str) -> None:
    assert REQUESTS.failures == ()
    file = REQUESTS.model_copy(update=found)
    assert file.failures == (says,)
    assert f"Failed:\n\n- {says}" in document.document([file])


def test_a_file_is_read_by_what_its_name_ends_in(tmp_path: Path) -> None:
    files: list[BenchFile] = [chaos(TRIAL), soak(FLAT), REQUESTS, ABUSE]
    for file in files:
        assert stored.read(store(file, tmp_path)) == file
    other = tmp_path / "20260102T030405Z-peers.json"
    other.write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match="does not say which suite"):
        stored.read(other)


def test_results_are_adopted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, folder = tmp_path / "results", tmp_path / "docs"
    monkeypatch.setattr(stored, "FOLDER", folder)
    store(chaos(TRIAL), results / "chaos")
    store(REQUESTS, results / stored.STAGED)
    store(chaos().model_copy(update={"id": "20260105T030405Z-chaos"}), results / "chaos")
    assert [path.name for path in stored.adopt(results / "chaos")] == [f"{chaos().id}.json"], "the other has no trial"
    assert stored.adopt(results / "chaos") == []
    assert [path.name for path in stored.adopt(results / stored.STAGED)] == [f"{REQUESTS.id}.json"]
    assert stored.read_all(folder) == [chaos(TRIAL), REQUESTS]


def test_a_document_of_chosen_files_is_written(tmp_path: Path) -> None:
    path = store(chaos(TRIAL), tmp_path)
    document.write([path], tmp_path / "reliability.md")
    assert (tmp_path / "reliability.md").read_text(encoding="utf-8") == document.document([chaos(TRIAL)])


def test_the_published_document_is_that_of_the_published_files() -> None:
    published = stored.DOCUMENT.read_text(encoding="utf-8")
    assert document.document(stored.read_all()) == published, (
        "write it again: scripts/lab chaos --report docs/reliability/*.json --output docs/reliability.md"
    )


def test_ledgers_that_bad_requests_have_changed_are_named() -> None:
    line = "nodes with another number of transactions, states or attachments"
    assert line not in document.document([REQUESTS.model_copy(update={"ledgers_changed": None})])
    for changed, shown in (([], "none"), (["PartyA", "PartyB"], "PartyA, PartyB")):
        compared = REQUESTS.model_copy(update={"ledgers_changed": changed})
        assert f"- {line}: {shown}\n" in document.document([compared])
