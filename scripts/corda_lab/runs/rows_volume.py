"""The volume in which the load generator writes its rows: lists, fetches and deletes the files of a run.

Rows stay in this volume during the load, and are fetched when the load has ended, however it ended. So fetching takes
nothing from the measured system, and a killed command line or a crashed machine loses no row that was written.
"""

import shlex
from pathlib import Path

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host.image_files import READER
from corda_lab.host.processes import last_words
from corda_lab.lab.compose import Compose, run_docker, run_docker_to_file
from corda_lab.lab.images import image_name
from corda_lab.results.folders import RUN_NAME
from lab_workload.by_hand import AFTER_SUFFIX, LOAD_SUFFIX, REMOVED_FILE
from lab_workload.row import ROWS_DIRECTORY

FETCH_SECONDS_MAX = 600.0
KEPT = (".ndjson", ".end.json", LOAD_SUFFIX, AFTER_SUFFIX)
"""Suffixes of the files that are fetched. The others only synchronise the generator with the command line."""

_TITLE = "== "
"""What the name of a file begins with, before its text. No line of an indented JSON file begins with it."""


class RowsVolume:
    """The volume of a lab, through its Locust container or, if that is not running, a container for one command."""

    def __init__(self, compose: Compose) -> None:
        self._compose = compose
        self._prefix = self._find_prefix()

    def _find_prefix(self) -> list[str] | None:
        """Return the arguments of ``docker`` before a command that sees the volume; None if there is no volume."""
        services = {service.name: service for service in self._compose.services()}
        if "locust" in services and services["locust"].state == "running":
            return self._compose.arguments("exec", "-T", "locust")
        volume = f"{self._compose.project}_locust-rows"
        if run_docker(["volume", "inspect", volume]).returncode != 0:
            return None
        settings = self._compose.settings
        for image in (settings.own_image("locust"), image_name(settings, "PYTHON_IMAGE"), settings.node_image):
            if run_docker(["image", "inspect", image]).returncode == 0:
                # The engine would store all that it prints once more, which is all rows.
                options = ["--rm", "--user=10001:10001", *READER, "--log-driver=none", "--entrypoint=env"]
                return ["run", *options, f"--volume={volume}:{ROWS_DIRECTORY}", image]
        raise LabError(
            f"The volume {volume} cannot be read, because no image with a shell exists", "Run `scripts/lab up`."
        )

    def _run(self, script: str) -> str:
        if self._prefix is None:
            return ""
        done = run_docker([*self._prefix, "sh", "-c", script], environment=self._compose.environment)
        if done.returncode != 0:
            raise LabError(f"The volume with the rows cannot be read: {last_words(done.stderr)}", exit_code=1)
        return done.stdout

    def _files(self) -> list[str]:
        return [name for name in self._run(f"ls {ROWS_DIRECTORY}").split() if not name.startswith(".")]

    def identities(self) -> list[str]:
        """Return the ids of the runs with files in the volume, oldest first. Runs of the web UI have other ids."""
        found = {name.partition(".")[0] for name in self._files()}
        return sorted(identity for identity in found if RUN_NAME.fullmatch(identity))

    def texts_by_hand(self) -> dict[str, str]:
        """Return the texts of the JSON files about loads by hand, and the numbers of lines of their rows, by file name.

        Raises LabError.
        """
        notes = " ".join([f"web-*{LOAD_SUFFIX}", "web-*.end.json", f"web-*{AFTER_SUFFIX}", REMOVED_FILE])
        show = f'[ ! -f "$file" ] || {{ echo "{_TITLE}$file"; '
        script = (
            f"cd {ROWS_DIRECTORY} || exit; "
            f'for file in {notes}; do {show}cat "$file"; }}; done; '
            f'for file in web-*.ndjson; do {show}wc -l < "$file"; }}; done'
        )
        texts: dict[str, str] = {}
        for line in self._run(script).splitlines():
            if line.startswith(_TITLE):
                name = line.removeprefix(_TITLE)
                texts[name] = ""
            elif texts:
                texts[name] += f"{line}\n"
        return texts

    def fetch(self, identity: str, directory: Path) -> None:
        """Copy the rows and the end file of a run to ``directory``, each whole or not at all. Raises LabError."""
        directory.mkdir(parents=True, exist_ok=True)
        for name in self._files():
            if not (name.startswith(f"{identity}.") and name.endswith(KEPT)):
                continue
            command = ["cat", f"{ROWS_DIRECTORY}/{name}"]
            with atomic.whole_file(directory / name) as partial:
                run_docker_to_file(
                    partial,
                    [*(self._prefix or ()), *command],
                    shown=shlex.join(command),
                    seconds_max=FETCH_SECONDS_MAX,
                    environment=self._compose.environment,
                )

    def delete(self, identity: str) -> None:
        """Delete all files of a run. Raises LabError."""
        self._run(f"rm -f {ROWS_DIRECTORY}/{identity}.*")
