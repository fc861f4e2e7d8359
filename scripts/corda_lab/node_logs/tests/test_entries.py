"""Entries of node logs as Corda 4.10 writes them, and their errors by kind."""

import pytest

from corda_lab.node_logs import model
from corda_lab.node_logs.model import Errors, LogEntry, entries

FLOW = "c5084132-4f88-49e4-a4ce-c53242e731f0"
CLIENT = "20261124T153300Z-iou-0a1b2c3d-7"
CONTEXT = f"{{actor_id=corda, actor_owning_identity=O=PartyA, L=London, C=GB, client_id={CLIENT}, flow-id={FLOW}}}"
HOSPITAL = "statemachine.StaffedFlowHospital"


def refusal(value: int, *, method: str = ".consultStaff", second: int = 1) -> str:
    """The entry of a refused IOU. The preset ``tuned`` leaves out the name of the method."""
    return f"""\
[INFO ] 2026-11-24T15:33:{second:02},457Z [Node thread-1] {HOSPITAL}{method} - Error 1 of 1: {CONTEXT}
net.corda.core.flows.FlowException: An IOU is accepted only if its value is below 100, but it is {value}.
\tat org.cordalab.flows.SignIou.checkTransaction(SignIou.java:36) ~[?:?]
\tat net.corda.core.flows.SignTransactionFlow.call(CollectSignaturesFlow.kt:301) ~[corda-core-4.10.jar:?]
"""


LOG = f"""\
[INFO ] 2026-11-24T15:32:00,001Z [main] internal.Node.start - Loaded 3 CorDapp(s)
[INFO ] 2026-11-24T15:33:01,456Z [Node thread-1] statemachine.FlowMonitor.x - Flow raised an error: no. {CONTEXT}
{refusal(523)}\
[WARN ] 2026-11-24T15:33:02,000Z [Thread-3 (ActiveMQ-client[a]-x)] pool.HikariPool.close - Pool - timed out - \
Pool is empty [errorCode=1ab2c, moreInformationAt=https://errors.corda.net/OS/4.10/1ab2c]
java.sql.SQLException: Pool is empty
\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:676) ~[HikariCP.jar:?]
Caused by: java.net.SocketTimeoutException: connect timed out
\t... 12 more
[ERROR] 2026-11-24T15:33:03.500Z [pool-1] c.B - first line
second line {{}}
"""


def read(text: str) -> list[LogEntry]:
    return list(entries(text.splitlines()))


def test_an_entry_ends_where_the_next_one_begins() -> None:
    found = read(LOG)
    assert [(entry.level, len(entry.lines)) for entry in found] == [
        ("INFO", 1),
        ("INFO", 1),
        ("INFO", 4),
        ("WARN", 5),
        ("ERROR", 2),
    ]
    assert "\n".join(line for entry in found for line in entry.lines) + "\n" == LOG
    assert found[1].at == pytest.approx(1795534381.456)


def test_a_message_has_no_context_no_stack_trace_and_no_error_code() -> None:
    assert [entry.message for entry in read(LOG)] == [
        "Loaded 3 CorDapp(s)",
        "Flow raised an error: no.",
        "Error 1 of 1:",
        "Pool - timed out - Pool is empty",
        "first line\nsecond line",
    ]


def test_an_exception_comes_with_its_innermost_cause() -> None:
    assert [entry.exception for entry in read(LOG)] == [
        None,
        None,
        "net.corda.core.flows.FlowException: An IOU is accepted only if its value is below 100, but it is 523.",
        "java.sql.SQLException: Pool is empty (cause: java.net.SocketTimeoutException: connect timed out)",
        None,
    ]


def test_an_exception_with_a_long_message_is_one() -> None:
    (entry,) = read(
        "[ERROR] 2026-11-24T15:33:03,500Z [main] c.B - Failed {}\n"
        "org.hibernate.HibernateException: could not\nexecute\nthe statement\n\tat a.b.C.d(C.java:1)\n"
    )
    assert entry.message == "Failed"
    assert entry.exception == "org.hibernate.HibernateException: could not execute the statement"


def test_warnings_errors_and_exceptions_are_errors() -> None:
    assert [entry.is_error for entry in read(LOG)] == [False, False, True, True, True]


@pytest.mark.parametrize("identity", [FLOW, FLOW[:8], FLOW.upper(), CLIENT])
def test_an_entry_belongs_to_the_flow_that_its_context_names(identity: str) -> None:
    assert [entry.names(identity) for entry in read(LOG)] == [False, True, True, False, False]


def test_what_comes_before_the_first_entry_has_no_time() -> None:
    first, second = read("\tat a.b.C(D.java:1)\n" + LOG.splitlines(keepends=True)[0])
    assert (first.at, first.level, second.level) == (None, "", "INFO")


@pytest.mark.parametrize("method", [".consultStaff", ""])
def test_errors_that_differ_in_their_values_are_one_kind(method: str) -> None:
    errors = Errors()
    for second, value in enumerate((523, 100, 999), start=1):
        for entry in read(refusal(value, method=method, second=second)):
            errors.add(entry)
    (kind,) = errors.kinds
    assert kind.count == 3
    assert kind.last_at - kind.first_at == pytest.approx(2)
    assert kind.exception is not None
    assert kind.exception.endswith("is accepted only if its value is below …, but it is ….")
    assert "but it is 523." in kind.example
    assert kind.logger == f"{HOSPITAL}{method}"


def test_the_most_frequent_kind_is_first_and_too_many_kinds_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "KINDS_MAX", 2)
    errors = Errors()
    for entry in read(LOG + refusal(7)):
        errors.add(entry)
    assert [kind.count for kind in errors.kinds] == [2, 1]
    assert errors.others == 1
