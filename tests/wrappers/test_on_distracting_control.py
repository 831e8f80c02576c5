"""The wrappers on the real environment that they are for."""

import gymnasium
import numpy as np

import iap_gym  # noqa: F401
from iap_gym.testing import ENV_CHECKS, check_wrapper
from iap_gym.wrappers import AttentionOverlay, IAPObservation

SELECTOR = {"patch_size": 8, "num_selected": 5, "kernel": "hybrid"}


def make(**kwargs):
    return gymnasium.make("iap_gym/DistractingWalkerWalk-v0", height=48, width=64, **kwargs)


def test_wrapper_contract():
    ran = check_wrapper(make, lambda env: IAPObservation(env, SELECTOR))
    assert ran == (*ENV_CHECKS, "task_unchanged")


def test_wrapper_contract_with_the_state_beside_the_image():
    check_wrapper(
        lambda: make(observation="both"),
        lambda env: IAPObservation(env, SELECTOR, image_key="pixels", features="both"),
        # Gymnasium advises against the unbounded joint velocities of the state.
        skip=("gymnasium",),
    )


def test_overlay_reddens_the_selected_patches_of_the_frame_and_nothing_else():
    env = AttentionOverlay(IAPObservation(make(render_mode="rgb_array"), SELECTOR))
    env.reset(seed=0)
    plain, marked = env.unwrapped.render(), env.render()
    inner = env.env
    assert isinstance(inner, IAPObservation)
    inside = np.zeros((48, 64), bool)
    for index in inner.last_indices:
        row, column = divmod(int(index), 64 // 8)
        inside[row * 8 : row * 8 + 8, column * 8 : column * 8 + 8] = True
    np.testing.assert_array_equal(marked[~inside], plain[~inside])
    assert (marked[inside][:, 0] > plain[inside][:, 0]).mean() > 0.9
    env.close()
