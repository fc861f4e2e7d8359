"""Takes apart the type names with which the bridge describes parameters: ``Map<String, List<Party>>?``."""

LISTS = ("list", "collection", "set", "iterable")


def is_nullable(name: str) -> bool:
    """Return whether null is accepted."""
    return name.endswith("?")


def base(name: str) -> str:
    """Return the class in lower case, without its arguments: ``map``."""
    return name.removesuffix("?").partition("<")[0].lower()


def arguments(name: str) -> list[str]:
    """Return the arguments of a type: ``["String", "List<Party>"]``; none if it has none."""
    inner = name.removesuffix("?").partition("<")[2].removesuffix(">")
    found: list[str] = []
    depth, start = 0, 0
    for index, character in enumerate(inner):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            found.append(inner[start:index].strip())
            start = index + 1
    return [*found, inner[start:].strip()] if inner else []


def element(name: str) -> str | None:
    """Return the type of the elements of a list, a set or an array; None for any other type, and for bytes."""
    plain = name.removesuffix("?")
    if plain.endswith("[]"):
        return None if plain == "byte[]" else plain.removesuffix("[]")
    inner = arguments(plain)
    return inner[0] if base(plain) in LISTS and len(inner) == 1 else None


def content(name: str) -> str | None:
    """Return the type of the values of a map; None for any other type."""
    inner = arguments(name)
    return inner[1] if base(name) == "map" and len(inner) == 2 else None


def wrapped(name: str) -> str | None:
    """Return the type within an ``Optional``; None for any other type."""
    inner = arguments(name)
    return inner[0] if base(name) == "optional" and len(inner) == 1 else None


def innermost(name: str) -> str:
    """Return the type of the values within lists, maps and optionals: ``Party`` of ``Map<String, List<Party>>?``."""
    inner = wrapped(name) or element(name) or content(name)
    return innermost(inner) if inner else name.removesuffix("?")
