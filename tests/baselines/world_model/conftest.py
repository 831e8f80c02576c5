"""Small data sets that several tests train on."""

import pytest

from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.sets import load_sets


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def small(data_folder):
    """Config of a small training on Robot Remote Control."""
    return ModelConfig(
        env="iap_gym/RobotRemoteControl-v0",
        data=data_folder,
        sequences=64,
        test_sequences=32,
        batch_size=32,
        epochs=6,
        evaluate_every=2,
    ).fill_in()


@pytest.fixture(scope="session")
def sets(small):
    return load_sets(small)
