"""The verbs that deal with placements: ``placement check``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corda_lab.cli.options import takes
from corda_lab.errors import LabError
from corda_lab.knobs.shape import SHAPE_OPTIONS, SIZE, variables_of
from corda_lab.lab.settings import load_settings
from corda_lab.text import tables, ui, words

if TYPE_CHECKING:
    from corda_lab.swarm.fit import Fitted


@takes(SHAPE_OPTIONS)
def check(
    name: Annotated[str, typer.Argument(metavar="PLACEMENT", help="Name in configs/placements/, or a path.")],
    **shape_of_lab: Any,
) -> None:
    """Check that a placement fits a shape of the lab, and show what runs on which host.

    Options that you leave out come from .env. Nothing is started, and no host is asked.

    Example: `scripts/lab placement check one-node-per-host --parties 5`
    """
    from corda_lab.host import engine
    from corda_lab.lab import shape
    from corda_lab.lab.compose import Compose
    from corda_lab.swarm.fit import fit
    from corda_lab.swarm.placement import find_placement
    from corda_lab.swarm.project import parse_project
    from corda_lab.swarm.schema import CORES_MAX

    placement = find_placement(name)
    settings = shape.with_options(load_settings(), variables_of(shape_of_lab), size=shape_of_lab[SIZE.name])
    # The nodes may have more cores than this machine: it is not the one on which they run.
    if problems := shape.problems(settings, cores=CORES_MAX):
        raise LabError(problems=problems)
    engine.ensure_compose(install=False)
    show(fit(placement, parse_project(Compose(settings).config())))


def show(fitted: "Fitted") -> None:
    """Print every host with what it runs, and what of its cores and memory is reserved."""
    table = tables.table("host", "cores", "memory", "services", numbers=("cores", "memory"))
    for host in fitted.hosts:
        fields = fitted.fields_of(host)
        here = {name: place for name, place in fitted.places.items() if place.host == host}
        names = [*here]
        cores = sum(place.cores for place in here.values())
        memory = sum(place.memory for place in here.values())
        if fields.workers is not None:
            names.append(words.plural(fields.workers.count, "worker"))
            cores += fields.workers.count * fields.workers.cores
            memory += fields.workers.count * fields.workers.memory
        room = (f"{cores:g} of {fields.cores:g}", f"{words.size(memory)} of {words.size(fields.memory)}")
        table.add_row(host, *room, ", ".join(names))
    tables.show(table)
    label = fitted.placement.fields.label
    ui.note(f"{words.plural(len(fitted.hosts), 'host')}. Each needs its name as a label, on a manager of the swarm:")
    ui.note(f"docker node update --label-add {label}={fitted.hosts[0]} NODE")
    ui.note("and a docker context of the same name:")
    ui.note(f"docker context create {fitted.hosts[0]} --docker host=ssh://USER@ADDRESS")
