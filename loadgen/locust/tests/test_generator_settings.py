"""Settings of the load generator that come from the bootstrapper."""

from pathlib import Path

from lab_load.generator_settings import GeneratorSettings


def test_a_party_may_have_the_name_of_any_organisation(tmp_path: Path) -> None:
    (tmp_path / "parties").write_text("PartyA,Soci%C3%A9t%C3%A9%20G%C3%A9n%C3%A9rale,A%2C%20B\n", encoding="utf-8")
    settings = GeneratorSettings.from_environment({"LAB_NETWORK_DIR": str(tmp_path)})
    assert settings.party_names == ("PartyA", "Société Générale", "A, B")
