"""Settings of the whole suite."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_torch_thread():
    """Tests run side by side on few cores, where more threads of torch wait for one another."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _no_window():
    """Without a screen SDL's window is drawn by EGL, and ends EGL for MuJoCo when it closes."""
    try:
        import pygame
    except ImportError:
        yield
        return

    def set_mode(*args, **kwargs):
        pytest.fail("a test opened a window: skip the render mode 'human'")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pygame.display, "set_mode", set_mode)
        yield
