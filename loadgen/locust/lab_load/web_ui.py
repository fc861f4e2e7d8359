"""What the lab adds to Locust's web UI: its checks, the file of the chosen workload, and the files of its loads.

Locust's own pages stay as they are. A script beside them shows the chosen workload below the form.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from flask import Response, jsonify, render_template_string, request

from lab_load.bridge_client import BridgeClient
from lab_load.generator_settings import MEBIBYTE, GeneratorSettings
from lab_load.origins import OriginGuard
from lab_load.row_writer import RowsError, write_whole
from lab_workload import overrides
from lab_workload.plan import PLAN_SUFFIX, Plan
from lab_workload.problems import LoadError
from lab_workload.web_ui import IDENTITY, STATUS_PATH, WebUiStatus
from lab_workload.workload import load_workload

FORM_ENDPOINT = "locust.index"
SCRIPT_PATH = "/lab/workload_panel.js"
_SCRIPT = Path(__file__).with_name("workload_panel.js").read_text(encoding="utf-8")
_TEMPLATE = Path(__file__).with_name("workload_panel.html").read_text(encoding="utf-8")

RUN_FILE = re.compile(r"(\d{8}T\d{6}Z-[a-z0-9][a-z0-9-]*)\..+")
"""A file of a run of the command line, whose files are here until its results are stored."""
RUN_SECONDS_MAX = 600.0
"""A run of the command line whose files have not changed for so long has ended: its command was killed."""

logger = logging.getLogger(__name__)


def extend(
    app: Any,
    settings: GeneratorSettings,
    check_form: Callable[[], Response | None],
    status: Callable[[], WebUiStatus],
) -> None:
    """Add the checks and pages to the Flask application of the web UI.

    ``check_form`` is called before every request, ``status`` when the command line asks.
    """
    # The guard wraps the whole application, because Locust adds its headers after all Flask handlers.
    app.wsgi_app = OriginGuard(app.wsgi_app, settings.allowed_hosts)
    app.before_request(check_form)
    # Without this, the form shows the arguments in alphabetical order, not in the order of declaration.
    app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}
    app.add_url_rule(STATUS_PATH, "lab.status", lambda: jsonify(status().as_dict()))
    app.add_url_rule("/lab/workloads/<name>", "lab.workload", lambda name: workload_page(settings, name))
    app.add_url_rule(SCRIPT_PATH, "lab.script", lambda: Response(_SCRIPT, mimetype="text/javascript"))
    app.after_request(_with_script)


def workload_page(settings: GeneratorSettings, name: str) -> str:
    """Return the file of a workload as a piece of HTML, with the keys that can be set; or its problems."""
    # Flask escapes what a template that is given as text contains.
    try:
        workload = load_workload(settings.workloads, name, settings.party_names)
    except LoadError as error:
        return str(render_template_string(_TEMPLATE, name=name, problems=error.problems))
    keys = overrides.keys_in(workload.source.path)
    return str(render_template_string(_TEMPLATE, name=name, keys=keys, text=workload.text))


def _with_script(response: Response) -> Response:
    if request.endpoint == FORM_ENDPOINT and response.mimetype == "text/html":
        tag = f'<script src=".{SCRIPT_PATH}"></script></body>'
        response.set_data(response.get_data(as_text=True).replace("</body>", tag, 1))
    return response


def require_free(settings: GeneratorSettings) -> None:
    """Check that a load may start. Raises ``LoadError`` if it would spoil the counts of another one."""
    for path in settings.rows.iterdir():
        match = RUN_FILE.fullmatch(path.name)
        with suppress(FileNotFoundError):
            if match is not None and time.time() - path.stat().st_mtime < RUN_SECONDS_MAX:
                raise LoadError(f"the run {match[1]} of the command line is in progress; wait for it, or stop it there")
    busy = {node: count for node, count in BridgeClient(settings.bridge_url).outstanding().items() if count}
    if busy:
        counted = ", ".join(f"{count} at {node}" for node, count in busy.items())
        raise LoadError(f"flows are still in flight ({counted}); wait until they have ended")


def keep_plan(settings: GeneratorSettings, plan: Plan) -> None:
    """Write the first file of a load, and make room for the others. Raises ``RowsError``."""
    make_room(settings, settings.web_loads_max - 1)
    # What was prepared may be large, and nobody needs it afterwards.
    content = plan.model_dump(mode="json", exclude={"results"})
    write_whole(settings.rows / f"{plan.identity}{PLAN_SUFFIX}", content)


def make_room(settings: GeneratorSettings, loads_max: int, current: str = "") -> None:
    """Remove the oldest loads of the web UI until there is room. ``current`` is the load in progress.

    Raises ``RowsError`` if that load alone is larger than the limit.
    """
    loads: dict[str, list[Path]] = {}
    for path in settings.rows.iterdir():
        if IDENTITY.fullmatch(identity := path.name.partition(".")[0]):
            loads.setdefault(identity, []).append(path)
    sizes = {identity: _bytes(paths) for identity, paths in sorted(loads.items())}
    while len(sizes) > loads_max or sum(sizes.values()) > settings.web_rows_bytes_max:
        oldest = next((identity for identity in sizes if identity != current), None)
        if oldest is None:
            limit = settings.web_rows_bytes_max // MEBIBYTE
            raise RowsError(f"its rows have reached the limit of {limit} MiB (WEB_ROWS_MAX_MIB in .env)")
        logger.warning("Removed the rows of %s, of which no report was made, to make room", oldest)
        remove(loads[oldest])
        del sizes[oldest]


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _bytes(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        # Meanwhile, the command line may have collected it.
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total
