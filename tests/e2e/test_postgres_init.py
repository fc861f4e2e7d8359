"""The script that creates the roles of PostgreSQL, in a container of its own on the lab's image."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.lab.images import image_name
from corda_lab.lab.lifecycle import prepare_images
from corda_lab.paths import CONFIGS
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]

SECONDS_MAX = 120
PASSWORD = "3f0a6f1d9f7c4b1e8a55c2d0b7e94a16"
SCRIPTS = "/docker-entrypoint-initdb.d"


def test_a_role_that_cannot_be_created_leaves_no_password_in_the_log(lab: Lab, tmp_path: Path) -> None:
    settings = replace(lab.settings, values={**lab.settings.values, "DATABASE": "postgres"})
    prepare_images(settings, None)
    secrets, before = tmp_path / "secrets", tmp_path / "before.sql"
    secrets.mkdir()
    for role in ("lab", "notary"):
        (secrets / role).write_text(PASSWORD, encoding="utf-8")
    before.write_text("CREATE ROLE notary;", encoding="utf-8")
    for path, mode in ((secrets, 0o755), (secrets / "lab", 0o644), (secrets / "notary", 0o644), (before, 0o644)):
        path.chmod(mode)  # the container runs as another user
    command = [
        *("docker", "run", "--rm", "--network=none", "--label=org.cordalab.test", "--user=999:999", "--memory=512m"),
        *("--env=POSTGRES_USER=lab", "--env=POSTGRES_DB=corda", "--env=POSTGRES_PASSWORD_FILE=/secrets/lab"),
        f"--volume={secrets}:/secrets:ro",
        f"--volume={before}:{SCRIPTS}/05-before.sql:ro",
        f"--volume={CONFIGS / 'databases' / 'postgres-init.sh'}:{SCRIPTS}/10-corda-lab.sh:ro",
        *("--entrypoint=timeout", image_name(settings, "POSTGRES_IMAGE"), str(SECONDS_MAX)),
        *("docker-entrypoint.sh", "postgres", "-c", "fsync=off"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX + 30)
    output = done.stdout + done.stderr
    assert done.returncode not in (0, 124), output
    assert 'role "notary" already exists' in output
    assert PASSWORD not in output
