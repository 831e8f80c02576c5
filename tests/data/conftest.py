"""Small data sets that several tests read."""

import pytest

from iap_gym.data import make_dataset
from iap_gym.data.recipes import NAMES


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Make 96 sequences of each data set; return the paths by name."""
    folder = tmp_path_factory.mktemp("data")
    paths = {name: folder / f"{name}.safetensors" for name in NAMES}
    for name, path in paths.items():
        make_dataset(name, path, sequences=96)
    return paths
