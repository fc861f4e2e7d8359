"""The volume in which the load generator writes its rows: lists, fetches and deletes the files of a run.

Rows stay in this volume during the load, and are fetched when the load has ended, however it ended. So fetching takes
nothing from the measured system, and a killed command line or a crashed machine loses no row that was written.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bare.commands import last_words
from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.lab.docker import READER, at, docker, docker_to_file, outcomes, problems_of
from corda_lab.lab.lab import Lab
from corda_lab.results.folders import RUN_NAME
from corda_lab.text import ui
from lab_workload.plan import PLAN_SUFFIX
from lab_workload.row import ROWS_DIRECTORY

FETCH_SECONDS_MAX = 600.0
KEPT = (".ndjson", ".end.json")
"""Suffixes of the files that are fetched. The others only synchronise the generator with the command line."""

_TITLE = "== "
"""What the name of a file begins with, before its text. No line of an indented JSON file begins with it."""

Found = TypeVar("Found")


def name_of(project: str) -> str:
    return f"{project}_locust-rows"


class RowsVolume:
    """The volume of a lab, through its Locust container or, where that is not running, a container for one command.

    A lab on several hosts has a volume of this name on every host that has generated load.
    """

    def __init__(self, compose: Lab) -> None:
        self._compose = compose
        self._places = self._find_places()

    def _find_places(self) -> list[list[str]]:
        """Return the arguments of ``docker`` before a command that sees a volume, for each engine that has one."""
        own = None
        try:
            own = self._compose.container("locust")
        except LabError:
            # A host that does not answer is asked again below, and named. It decides nothing about the others.
            if self._compose.is_here:
                raise

        def place_on(context: str) -> list[str] | None:
            if own is not None and own.context == context:
                return at(context, "exec", own.name)
            return self._reader_on(context)

        found = outcomes(self._compose.contexts, place_on)
        errors = [one for one in found.values() if isinstance(one, LabError)]
        if len(errors) == len(found):
            raise errors[0]
        for problem in problems_of(found):
            # The rows of the others can be had, and those of this one when its host is back.
            ui.warn(f"rows of loads may be left: {problem.finding}")
        return [one for one in found.values() if one is not None and not isinstance(one, LabError)]

    def _reader_on(self, context: str) -> list[str] | None:
        volume = name_of(self._compose.project)
        if docker("volume", "inspect", volume, on=context).returncode != 0:
            return None
        # Which of them exist depends on what was built.
        for image in (self._compose.helper_image, self._compose.reader_image):
            if docker("image", "inspect", image, on=context).returncode == 0:
                # The engine would store all that it prints once more, which is all rows.
                options = ["--rm", "--user=10001:10001", *READER, "--log-driver=none", "--entrypoint=env"]
                return at(context, "run", *options, f"--volume={volume}:{ROWS_DIRECTORY}", image)
        where = f"{context}: " if context else ""
        again = "`scripts/lab up`" if self._compose.is_here else "`scripts/lab up --on PLACEMENT`"
        raise LabError(
            f"{where}The volume {volume} cannot be read, because no image with a shell exists", f"Run {again}."
        )

    def _at_each(self, act: Callable[[list[str]], Found]) -> list[Found]:
        """Do the same at every place. Raises LabError if it fails at the only one, or at the last one that is left.

        A place where it fails is left alone from then on, so that nothing is deleted that was not fetched.
        """
        found = []
        for place in list(self._places):
            try:
                found.append(act(place))
            except LabError as error:
                if len(self._places) == 1:
                    raise
                self._places.remove(place)
                ui.warn(f"rows of loads may be left: {error}")
        return found

    def _run(self, script: str) -> str:
        return "".join(self._at_each(lambda place: self._run_at(place, script)))

    def _run_at(self, place: list[str], script: str) -> str:
        done = docker(*place, "sh", "-c", script)
        if done.returncode != 0:
            raise LabError(f"The volume with the rows cannot be read: {last_words(done.stderr)}", exit_code=1)
        return done.stdout

    def _files_at(self, place: list[str]) -> list[str]:
        names = self._run_at(place, f"ls {ROWS_DIRECTORY}").split()
        return [name for name in names if not name.startswith(".")]

    def identities(self) -> list[str]:
        """Return the ids of the runs with files in the volume, oldest first. Runs of the web UI have other ids."""
        found = {name.partition(".")[0] for names in self._at_each(self._files_at) for name in names}
        return sorted(identity for identity in found if RUN_NAME.fullmatch(identity))

    def texts_by_hand(self) -> dict[str, str]:
        """The JSON files about loads by hand, and numbers of lines of their rows, by file name. Raises LabError."""
        notes = f"web-*{PLAN_SUFFIX} web-*.end.json"
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

        def fetch_from(place: list[str]) -> None:
            for name in self._files_at(place):
                if not (name.startswith(f"{identity}.") and name.endswith(KEPT)):
                    continue
                command = ["cat", f"{ROWS_DIRECTORY}/{name}"]
                with atomic.whole_file(directory / name) as partial:
                    docker_to_file(partial, *place, *command, shown=shlex.join(command), seconds_max=FETCH_SECONDS_MAX)

        self._at_each(fetch_from)

    def delete(self, identity: str) -> None:
        self._run(f"rm -f {ROWS_DIRECTORY}/{identity}.*")
