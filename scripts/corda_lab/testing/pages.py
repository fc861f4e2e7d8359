"""Parts of a rendered report page, for tests."""

import json
import re
from typing import Any


def without_scripts(text: str) -> str:
    """The page without its script elements."""
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def chart_data(text: str) -> dict[str, Any]:
    """The data of the charts that the page embeds as JSON."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data
