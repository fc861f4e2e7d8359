"""What the configured lab is exposed to that a person should know before it starts."""

from packaging.version import Version

from corda_lab.errors import LabError
from corda_lab.host.probe import parse_version
from corda_lab.lab.checks import Check, ok, warning
from corda_lab.lab.settings import Settings

INTERNAL_NETWORK = "INTERNAL_NETWORK"
LOG4SHELL_FIXED = (4, 9)
"""The first version of Corda on Maven Central without Log4Shell (CVE-2021-44228). 4.6 to 4.8 have Log4j 2.13.3, older
ones 2.9.1 or older; 4.9 has 2.17.1."""


LOOPBACK_HELD = Version("28")
"""The first engine whose ports on 127.0.0.1 are closed to other machines of the same network segment (moby/moby issue
45610)."""
RESOLVER_HELD = Version("26")
"""The first engine that resolves no outside names for containers of internal networks (CVE-2024-29018). 25.0.4 and
23.0.11 do not either."""
RESOLVER_HELD_TOO = {25: Version("25.0.4"), 23: Version("23.0.11")}


def is_internal(settings: Settings) -> bool:
    """Return whether containers are to reach nothing outside. Raises LabError if the variable is no truth value."""
    value = settings.values.get(INTERNAL_NETWORK) or "true"
    if value not in {"true", "false"}:
        raise LabError(f"{INTERNAL_NETWORK}: {value!r} is neither true nor false", "Use true, unless you need egress.")
    return value == "true"


def has_log4shell(version: str) -> bool:
    """Return whether this version of Corda contains a Log4j that runs code from the messages that it logs."""
    numbers = tuple(int(number) for number in version.split(".") if number.isdecimal())
    return bool(numbers) and numbers < LOG4SHELL_FIXED


def examine(settings: Settings) -> list[Check]:
    """Check for nodes with known holes, and for a network that is open. Raises LabError for a wrong value."""
    internal, version = is_internal(settings), settings["CORDA_VERSION"]
    checks = [
        ok("network", "containers reach nothing outside")
        if internal
        else warning(
            "network",
            f"containers reach other networks and the internet ({INTERNAL_NETWORK}=false)",
            f"Set {INTERNAL_NETWORK}=true unless a CorDapp needs to reach something outside.",
        )
    ]
    if has_log4shell(version):
        doubt = "; the lab does not know whether this image has it" if settings.foreign_image else ""
        checks.append(
            warning(
                f"Corda {version}",
                "its Log4j on Maven Central has Log4Shell (CVE-2021-44228): who can send it text can run code in a"
                f" node{doubt}",
                f"Use Corda {'.'.join(map(str, LOG4SHELL_FIXED))} or newer, or start only flows and CorDapps that you"
                f" trust, with {INTERNAL_NETWORK}=true.",
            )
        )
    return checks


def resolves_outside(engine: Version) -> bool:
    """Return whether an engine resolves outside names for containers of internal networks."""
    return engine < RESOLVER_HELD_TOO.get(engine.major, RESOLVER_HELD)


def examine_engine(text: str) -> list[Check]:
    """Check for holes of old engines, by the version that the engine gives, such as ``20.10.24+dfsg1``."""
    version = parse_version(text)
    if version is None:
        return []
    checks = []
    if version < LOOPBACK_HELD:
        checks.append(
            warning(
                f"engine {text}",
                "other machines of the same network segment can reach ports that it publishes on 127.0.0.1, such as"
                " those of the bridge and of Locust",
                f"Use Docker {LOOPBACK_HELD} or newer, or run the lab only in a network that you trust.",
            )
        )
    if resolves_outside(version):
        checks.append(
            warning(
                f"engine {text}",
                "it resolves outside names for containers of internal networks (CVE-2024-29018)",
                f"Use Docker {RESOLVER_HELD} or newer, or only CorDapps that you trust.",
            )
        )
    return checks
