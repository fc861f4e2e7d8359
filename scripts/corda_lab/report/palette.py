"""The colours of reports and of printed charts, by role, for the light and the dark theme."""

ROLES = {
    "page": ("#f6f7f9", "#10151b"),
    "card": ("#ffffff", "#181f27"),
    "ink": ("#16202c", "#e8edf2"),
    "quiet": ("#5a6675", "#9aa8b7"),
    "line": ("#dde2e8", "#2b3541"),
    "grid": ("#e9edf1", "#26303b"),
    "shade": ("rgba(90, 102, 117, .10)", "rgba(154, 168, 183, .12)"),
    "good": ("#11734b", "#5fd3a0"),
    "bad": ("#b3261e", "#ff8a80"),
    "warning": ("#8a5a00", "#f2c14e"),
    "good-back": ("#e3f4ec", "#12352a"),
    "bad-back": ("#fbe9e7", "#40201d"),
    "warning-back": ("#fdf3dc", "#3a2f14"),
    "main": ("#1f6fb5", "#6cb4f5"),
    "second": ("#c4560a", "#ffa057"),
    "third": ("#8a3ca8", "#d597f0"),
    "faint": ("#8b98a8", "#75849a"),
    "node-notary": ("#5f6b7a", "#a7b4c4"),
    "node-partya": ("#1f6fb5", "#6cb4f5"),
    "node-partyb": ("#c4560a", "#ffa057"),
    "node-partyc": ("#11806a", "#56d0b4"),
    "node-partyd": ("#8a3ca8", "#d597f0"),
    "node-partye": ("#8a6a00", "#e0c24e"),
    "node-partyf": ("#4b4fa6", "#a9adf5"),
    "node-partyg": ("#b1386a", "#f58fb4"),
    "node-partyh": ("#4f7a1d", "#a3d36b"),
    "node-partyi": ("#7a4a2a", "#d0a07c"),
    "node-partyj": ("#16202c", "#e8edf2"),
    "node-partyk": ("#a02020", "#f59a90"),
    "node-bridge": ("#0d7f94", "#5cc8dc"),
    "node-locust": ("#a64ca6", "#e08be0"),
    "node-prometheus": ("#6f7d00", "#c3d24a"),
    "node-postgresql": ("#336791", "#8fb8e0"),
    "group-0": ("#0067a8", "#6cb4f5"),
    "group-1": ("#c44e00", "#ffa057"),
    "group-2": ("#00805b", "#56d0b4"),
    "group-3": ("#a23b7a", "#e59ac8"),
    "group-4": ("#8a6a00", "#e0c24e"),
    "group-5": ("#4b4fa6", "#a9adf5"),
    "group-6": ("#5f6b7a", "#a7b4c4"),
    "group-7": ("#16202c", "#e8edf2"),
    "measured": ("rgba(31, 111, 181, .07)", "rgba(108, 180, 245, .08)"),
    "fault": ("rgba(179, 38, 30, .20)", "rgba(255, 138, 128, .24)"),
    "fault-after": ("rgba(179, 38, 30, .08)", "rgba(255, 138, 128, .10)"),
}
"""Each role with its colours in the light and the dark theme. A chart names a role, never a colour."""

LIGHT = {role: light for role, (light, _) in ROLES.items()}
"""The colours of the light theme and of printed charts."""
DARK = {role: dark for role, (_, dark) in ROLES.items()}
GROUP_COUNT = sum(role.startswith("group-") for role in ROLES)


def css(*, has_switch: bool = True) -> str:
    """The CSS of both themes, with the roles as custom properties: ``--main``, ``--group-0``. Paper is always light.

    Without a switch, as in a picture of its own, the theme is that of the system.
    """
    media, root = ("screen", ':root[data-theme="dark"]') if has_switch else ("(prefers-color-scheme: dark)", ":root")
    return f"{_theme(':root', 'light', LIGHT)}@media {media} {{\n{_theme(root, 'dark', DARK)}}}\n"


def _theme(selector: str, scheme: str, colours: dict[str, str]) -> str:
    properties = "".join(f"  --{role}: {colour};\n" for role, colour in colours.items())
    return f"{selector} {{\n  color-scheme: {scheme};\n{properties}}}\n"
