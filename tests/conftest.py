"""Settings of the whole suite."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_torch_thread():
    """Tests run side by side on few cores, where more threads of torch wait for one another."""
    import torch

    torch.set_num_threads(1)
