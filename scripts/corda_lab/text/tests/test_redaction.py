"""Secrets are taken out of texts, and nothing else is."""

import time

import pytest

from corda_lab.text.redaction import KEY_LINES_MAX, REDACTED, Redactor, redacted, values_in

NODE_CONF = """\
keyStorePassword="kR7x0aQm2Lw9"
trustStorePassword : trust-1234567
dataSourceProperties { dataSource { password = "pg-secret-99", user = partya } }
rpcUsers=[{ username=corda, password="rpc-pw-77", permissions=["InvokeRpc.nodeInfo"] }]
p2pAddress="partya:10002"
"""


def test_the_secrets_in_settings_are_those_whose_names_say_so() -> None:
    assert values_in(NODE_CONF) == {"kR7x0aQm2Lw9", "trust-1234567", "pg-secret-99", "rpc-pw-77"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cannot open kR7x0aQm2Lw9.jks", f"cannot open {REDACTED}.jks"),
        ("dataSource.password=hunter22, user=partya", f"dataSource.password={REDACTED}, user=partya"),
        ('"keyStorePassword" : "*****",', f'"keyStorePassword" : {REDACTED},'),
        ("token: 'abc def'", f"token: {REDACTED}"),
        ("jdbc:postgresql://lab:hunter22@postgres:5432/corda", f"jdbc:postgresql://{REDACTED}@postgres:5432/corda"),
        ("-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE KEY----- end", REDACTED),
    ],
)
def test_a_line_loses_its_secrets(line: str, expected: str) -> None:
    assert Redactor(values_in(NODE_CONF)).line(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "[INFO ] 2026-11-24T15:33:00,123Z [main] internal.Node.start - Loaded CorDapps {session_id=a-b, flow-id=c-d}",
        "An IOU is accepted only if its value is below 100, but it is 523.",
        "http://partya:10002/path@x",
    ],
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert Redactor({"short"}).line(line) == line


def test_a_long_line_takes_no_more_than_its_length() -> None:
    """With the square of the length, this would take hours."""
    began_at = time.monotonic()
    assert Redactor().line(f"{'x' * 500_000} token=abc") == f"{'x' * 500_000} token={REDACTED}"
    assert time.monotonic() - began_at < 10


def test_a_private_key_of_several_lines_is_taken_out_as_a_whole() -> None:
    redactor = Redactor()
    lines = ["key: -----BEGIN EC PRIVATE KEY-----", "MHcCAQEE", "-----END EC PRIVATE KEY-----", "after"]
    assert [redactor.line(line) for line in lines] == [f"key: {REDACTED}", REDACTED, REDACTED, "after"]


def test_a_private_key_without_an_end_does_not_hide_all_that_follows() -> None:
    redactor = Redactor()
    lines = ["-----BEGIN PRIVATE KEY-----", *["MHcCAQEE"] * KEY_LINES_MAX, "after"]
    assert [redactor.line(line) for line in lines] == [*[REDACTED] * (KEY_LINES_MAX + 1), "after"]


def test_a_whole_text_keeps_its_lines() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMHcCAQEE\n-----END PRIVATE KEY-----"
    text = f"own-password-1\n{key}\n\npassword=hunter22\n"
    assert redacted(text, {"own-password-1"}) == f"{REDACTED}\n" * 4 + f"\npassword={REDACTED}\n"
