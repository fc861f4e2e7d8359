"""What the tests of sweeps share."""

import pytest

from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE


@pytest.fixture
def settings() -> Settings:
    return load_settings(ENV_FILE, {})
