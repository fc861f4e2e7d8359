"""What the command line knows of Locust's web UI: the ids of its loads, and what it does now.

A load of the web UI has the files of any other: ``<id>.plan.json``, the rows, and the end file. They stay in the volume
of the rows until ``lab report web-ui`` has made a run of them.
"""

import re
from dataclasses import dataclass
from typing import Literal

from lab_workload.run_end import JsonFile

IDENTITY = re.compile(r"web-(\d{8}T\d{6}Z)")
"""The id of a load of the web UI: the time of its start."""
STATUS_PATH = "/lab/status"
"""The path at which the web UI says what it does."""

WebUiState = Literal["idle", "set-up", "running", "stopping"]
"""stopping: it waits for the last answers of a load."""


@dataclass(frozen=True)
class WebUiStatus(JsonFile):
    """What the web UI answers at ``STATUS_PATH``. ``id`` is that of the load in progress, if there is one."""

    state: WebUiState
    id: str | None
