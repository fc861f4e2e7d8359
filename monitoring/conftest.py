"""A real Prometheus with known samples, for the tests in this folder."""

import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.images import image_name
from corda_lab.lab.settings import load_settings
from known_samples import SCRAPE_SECONDS, STRETCH_SECONDS, Loaded, Stretch, run_samples
from rule_files import RULES_FOLDER

START_DEADLINE_SECONDS = 60


def _docker(*arguments: str) -> str:
    done = subprocess.run(
        ["docker", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"docker {arguments[0]}: {done.stdout.strip()}"
    return done.stdout.strip()


def _await(condition: Callable[[], bool], container: str) -> None:
    deadline = time.monotonic() + START_DEADLINE_SECONDS
    while not condition():
        running = _docker("inspect", "--format", "{{.State.Running}}", container)
        assert running == "true", f"Prometheus ended: {_docker('logs', container)}"
        assert time.monotonic() < deadline, f"Prometheus is not ready: {_docker('logs', container)}"
        time.sleep(0.2)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _start(*stretches: Stretch) -> str:
    """Return the script of the container: the samples, then what the rules record of them, then the alerts now.

    promtool asks a running Prometheus for what a rule would have recorded. Blocks that it has written are read at the
    next start.
    """
    prometheus = "prometheus --config.file=/tmp/prometheus.yml --storage.tsdb.path=/prometheus"
    ask = "promtool tsdb create-blocks-from rules --url=http://127.0.0.1:9090 --output-dir=/tmp/recorded"
    record = [f"{ask} --start={one.start} --end={one.end} /rules/recording.yml" for one in stretches]
    return "\n".join(
        [
            "set -eu",
            "promtool tsdb create-blocks-from openmetrics --quiet /samples.om /prometheus",
            "printf 'scrape_configs: []\\n' > /tmp/prometheus.yml",
            # Nobody else sees this one.
            f"{prometheus} --web.listen-address=127.0.0.1:9090 & asked=$!",
            "until wget --quiet --spider http://127.0.0.1:9090/-/ready; do sleep 0.1; done",
            *record,
            "kill $asked",
            "wait $asked || true",
            "mv /tmp/recorded/* /prometheus/",
            # Only the alerts: what would be recorded now is of no stretch.
            "printf 'rule_files: [/rules/alerts.yml]\\nscrape_configs: []\\n' > /tmp/prometheus.yml",
            f"exec {prometheus}",
        ]
    )


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """A temporary Prometheus container with both stretches. The newer one ends about now."""
    end = int(time.time()) // SCRAPE_SECONDS * SCRAPE_SECONDS
    with_errors = Stretch(end - STRETCH_SECONDS, run_samples(failed=2))
    faultless = Stretch(end - 6 * STRETCH_SECONDS, run_samples(failed=0))
    samples = tmp_path_factory.mktemp("prometheus") / "samples.om"
    samples.write_text("".join([*faultless.lines(), *with_errors.lines(), "# EOF\n"]), encoding="utf-8")

    container = f"corda-lab-test-prometheus-{uuid.uuid4().hex[:8]}"
    _docker(
        *("create", "--name", container, "--publish", "127.0.0.1::9090", "--memory", "512m", "--entrypoint", "sh"),
        *(image_name(load_settings(), "PROMETHEUS_IMAGE"), "-c", _start(faultless, with_errors)),
    )
    try:
        _docker("cp", str(samples), f"{container}:/samples.om")
        _docker("cp", str(RULES_FOLDER), f"{container}:/rules")
        _docker("start", container)
        url = f"http://{_docker('port', container, '9090/tcp').splitlines()[0]}"
        _await(lambda: _is_ready(url), container)
        with closing(Prometheus(url)) as prometheus:
            yield Loaded(prometheus, faultless, with_errors)
    finally:
        _docker("rm", "--force", "--volumes", container)
