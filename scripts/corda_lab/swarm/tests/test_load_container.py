"""The containers that generate the load of a stack: derived from its service, with nothing left to chance."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from corda_lab.swarm.load_container import SERVICE, LoadTemplate, read_stack_file
from corda_lab.swarm.project import Project
from corda_lab.swarm.stack import Derivation, derive
from lab_workload.row import ROWS_DIRECTORY

ARGUMENTS = ("--headless", "--run-id", "x")


@pytest.fixture
def template(project: Project, derivation_of: Callable[..., Derivation]) -> LoadTemplate:
    stack = derive(derivation_of(project))
    return LoadTemplate(stack.name, read_stack_file(stack.text))


def options(template: LoadTemplate) -> list[str]:
    return template.create("lab-load", ARGUMENTS, label="org.cordalab.run=x")


def test_it_has_the_environment_and_the_limits_of_the_service(template: LoadTemplate, project: Project) -> None:
    found = options(template)
    service = project.services[SERVICE]
    assert found[-4:] == [template.service["image"], *ARGUMENTS]
    for name, value in service["environment"].items():
        # The values are not on the command line, which others can read.
        assert f"--env={name}" in found
        assert template.environment[name] == (value or "").replace("$$", "$")
    assert f"--memory={service['mem_limit']}" in found
    assert f"--pids-limit={service['pids_limit']}" in found
    assert f"--user={service['user']}" in found
    assert {"--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true"} <= {*found}
    assert f"--stop-timeout={70}" in found


@pytest.mark.parametrize("name", ["HOME", "PATH", "DOCKER_HOST"])
def test_a_variable_that_the_docker_client_would_take_is_refused(name: str) -> None:
    document = {"services": {SERVICE: {"environment": {"LAB": "x", name: "y"}}}}
    with pytest.raises(LabError, match=f"locust.environment.{name}: the docker client would take it"):
        assert LoadTemplate("lab-swarm", document).environment


def test_it_is_in_the_overlay_of_the_stack_and_has_the_volume_with_the_rows(template: LoadTemplate) -> None:
    found = options(template)
    assert [word for word in found if word.startswith("--network=")] == [f"--network={template.stack}_default"]
    rows = [word for word in found if f"source={template.stack}_locust-rows" in word]
    assert len(rows) == 1
    assert f"volume-label=com.docker.stack.namespace={template.stack}" in rows[0]
    assert "--tmpfs=/tmp" in found


def test_rows_are_in_the_named_volume_wherever_the_image_declares_one(template: LoadTemplate, project: Project) -> None:
    """A container of a load is removed with its volumes without a name, so its rows must not be in one of these."""
    assert f"VOLUME {ROWS_DIRECTORY}\n" in (ROOT / "loadgen" / "locust" / "Dockerfile").read_text(encoding="utf-8")
    (mount,) = [one for one in project.services[SERVICE]["volumes"] if one.get("source") == "locust-rows"]
    assert mount["target"] == ROWS_DIRECTORY
    assert any(f"source={template.stack}_locust-rows,target={ROWS_DIRECTORY}," in word for word in options(template))


def test_only_the_driver_has_the_name_of_the_service(template: LoadTemplate) -> None:
    alias = f"--network-alias={SERVICE}"
    assert alias not in options(template)
    assert alias in template.create("lab-load", ARGUMENTS, label="a=b", has_alias=True)


def test_its_files_are_those_of_the_service_in_volumes_of_their_own(template: LoadTemplate) -> None:
    assert "/etc/corda-lab/workloads/iou.yaml" in template.files
    assert all(path.is_file() for path in template.files.values())
    mounts = {f"--mount=type=volume,target={folder}" for folder in template.folders}
    assert mounts <= {*options(template)}
    assert {"/etc/corda-lab/workloads", "/network"} <= {*template.folders}


@pytest.mark.parametrize("added", [{"sysctls": []}, {"secrets": [{"source": "key"}]}])
def test_a_field_without_a_rule_is_named(template: LoadTemplate, added: Mapping[str, Any]) -> None:
    services = template.document["services"]
    other = {**template.document, "services": {**services, SERVICE: {**template.service, **added}}}
    with pytest.raises(LabError, match=f"locust: {next(iter(added))} has no rule"):
        options(LoadTemplate(template.stack, other))
