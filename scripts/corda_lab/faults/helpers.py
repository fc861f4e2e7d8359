"""Commands that change a namespace of a container: a helper beside it runs a script of ``inside``, and ends."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

from corda_lab.faults.wound import HELPER, THERE, Command
from corda_lab.lab.deployed import Deployed
from corda_lab.lab.engine import Container

Commands = Sequence[Command]


def command(container: Container, *arguments: str, states: Sequence[str] = ()) -> Command:
    """A command for the engine of a container."""
    return Command(container=container.name, context=container.engine.name, states=tuple(states), arguments=arguments)


def routes(compose: Deployed, lost: Mapping[Container, Sequence[str]]) -> tuple[Commands, Commands]:
    """Lose what containers send to some addresses, and what comes from there."""

    def changed(verb: str) -> Iterator[Command]:
        for container, addresses in lost.items():
            namespace = (f"--network=container:{container}", "--user=0:0", "--cap-add=NET_ADMIN")
            yield helper(compose, container, namespace, "routes", verb, *addresses)

    return list(changed("lose")), list(changed("find"))


def helper(compose: Deployed, container: Container, namespace: Sequence[str], script: str, *arguments: str) -> Command:
    """Runs a script of ``inside`` in a namespace of a container, with only what it needs there."""
    bounds: tuple[str, ...] = (
        "--rm",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges:true",
        "--read-only",
        "--memory=64m",
    )
    bounds += ("--pids-limit=16", f"--label={HELPER}=1", "--entrypoint=python3")
    image = (compose.helper_image, "-c", text_of(script))
    return command(container, "run", *bounds, *namespace, *image, *arguments, states=THERE)


def text_of(script: str) -> str:
    """The text of a script of ``inside``."""
    return resources.files("corda_lab.faults.inside").joinpath(f"{script}.py").read_text(encoding="utf-8")
