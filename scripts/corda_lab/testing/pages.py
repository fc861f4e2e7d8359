"""Parts of a rendered report page, for the tests that look into one."""

import json
import re
from typing import Any


def without_scripts(text: str) -> str:
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def chart_data(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data
