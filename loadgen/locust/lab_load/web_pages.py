"""What the lab adds to Locust's web UI: its checks, what the chosen workload does, and what the command line asks.

Locust's own pages stay as they are. A script beside them shows the page of the chosen workload below the form.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flask import Response, jsonify, render_template_string, request

from lab_load.generator_settings import GeneratorSettings
from lab_load.origins import OriginGuard
from lab_workload.about import About, about
from lab_workload.by_hand import STATUS_PATH, WebUiStatus
from lab_workload.problems import LoadError, Problem

WORKLOAD_PATH = "/lab/workloads"
SCRIPT_PATH = "/lab/workload_panel.js"
FORM_ENDPOINT = "locust.index"
_SCRIPT = Path(__file__).with_name("workload_panel.js").read_text(encoding="utf-8")
_TEMPLATE = Path(__file__).with_name("workload_panel.html").read_text(encoding="utf-8")


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
    app.add_url_rule(f"{WORKLOAD_PATH}/<name>", "lab.workload", lambda name: workload_page(settings, name))
    app.add_url_rule(SCRIPT_PATH, "lab.script", lambda: Response(_SCRIPT, mimetype="text/javascript"))
    app.after_request(_with_script)


def workload_page(settings: GeneratorSettings, name: str) -> str:
    """Return what a workload does, as a piece of HTML; the problems of its file if it is not valid."""
    try:
        found = about(settings.workloads, name, settings.party_names)
    except LoadError as error:
        return _rendered(name, None, error.problems)
    return _rendered(name, found, ())


def _rendered(name: str, workload: About | None, problems: Sequence[Problem]) -> str:
    # Flask escapes what a template that is given as text contains.
    text: str = render_template_string(_TEMPLATE, name=name, workload=workload, problems=problems)
    return text


def _with_script(response: Response) -> Response:
    """Add the script to the page with the form."""
    if request.endpoint == FORM_ENDPOINT and response.mimetype == "text/html":
        tag = f'<script src=".{SCRIPT_PATH}"></script></body>'
        response.set_data(response.get_data(as_text=True).replace("</body>", tag, 1))
    return response
