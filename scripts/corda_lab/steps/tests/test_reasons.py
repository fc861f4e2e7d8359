"""Reasons: worded once, alone and several together."""

import string

import pytest

from corda_lab.steps.reasons import SENTENCES, kind, reason, sentence, sentences


def test_a_reason_says_its_values() -> None:
    assert str(reason("swapped", pages=12345)) == "the host swapped 12,345 pages during the measuring window"


def test_reasons_that_differ_in_numbers_are_one_sentence_with_their_range() -> None:
    steal = [reason("cpu_steal", percent=percent) for percent in (12.0, 45.0, 9.0)]
    assert len({kind(one) for one in steal}) == 1
    assert sentence(steal) == "CPU steal was 9 to 45 % (other VMs on this host)"
    drift = [reason("throughput_changed", percent=percent) for percent in (23.0, -31.0)]
    assert "by -31 to +23 % from" in sentence(drift)


def test_reasons_that_differ_in_words_are_two() -> None:
    first, second = (reason("latency_above", name=name, seen_ms=1200, limit_ms=1000) for name in ("p95", "p99"))
    assert kind(first) != kind(second)


def test_each_sentence_is_said_once() -> None:
    assert sentences([reason("still_spawning"), reason("still_spawning")]) == [SENTENCES["still_spawning"]]


def test_an_unknown_code_is_a_defect() -> None:
    with pytest.raises(KeyError):
        reason("no_such_code")


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_every_sentence_can_be_said(code: str) -> None:
    fields = [name for _, name, _, _ in string.Formatter().parse(SENTENCES[code]) if name]
    forms = {name: form for _, name, form, _ in string.Formatter().parse(SENTENCES[code]) if name}
    values: dict[str, float | int | str] = {name: 3 if forms[name] else "word" for name in fields}
    assert str(reason(code, **values))
