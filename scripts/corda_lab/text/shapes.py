"""The shape of a lab in words."""

from collections.abc import Mapping, Sequence

LAB_IMAGES = "corda-lab/node:"
"""How the names of the node images begin that the lab builds."""


def describe(values: Mapping[str, str]) -> str:
    """A shape in one line, for people: ``Corda 4.10, h2, simple notary, 3 parties, production mode, preset stock, heap 1g``."""
    return ", ".join(_traits(values))


def describe_all(shapes: Sequence[Mapping[str, str]]) -> str:
    """Several shapes in one line, what they share told once: ``h2; postgres; each with Corda 4.10, simple notary, …``."""
    told = list({describe(values): _traits(values) for values in shapes}.values())
    if len(told) == 1:
        return ", ".join(told[0])
    shared = [trait for trait in told[0] if all(trait in traits for traits in told)]
    own = [", ".join(trait for trait in traits if trait not in shared) or "nothing else" for traits in told]
    return "; ".join([*own, f"each with {', '.join(shared)}"] if shared else own)


def _traits(values: Mapping[str, str]) -> list[str]:
    cores = values["NODE_CORES"]
    words = [
        f"Corda {values['CORDA_VERSION']}",
        values["DATABASE"],
        f"{values['NOTARY']} notary",
        f"{values['PARTIES']} parties",
        "development mode" if values["DEV_MODE"] == "true" else "production mode",
        f"preset {values['NODE_PRESET']}",
        f"heap {values['NODE_HEAP']}",
    ]
    words += [f"{cores} core{'' if float(cores) == 1 else 's'} a node"] if float(cores) else []
    words += [f"on cores {values['NODE_CPUSET']}"] if values["NODE_CPUSET"] else []
    words += [f"image {values['CORDA_IMAGE']}"] if not values["CORDA_IMAGE"].startswith(LAB_IMAGES) else []
    words += [f"link {link}" for link in values["LINKS"].split()]
    return words
