"""MiniGrid's tasks against the package that has them, and the network against plain loops."""

import json
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import CombinedExtractor, NatureCNN

from iap_gym.baselines.minigrid import (
    PAPER_TASKS,
    TASKS,
    TRANSFER,
    MiniGridFeatures,
    is_grid_view,
    is_success,
    make_minigrid,
)
from iap_gym.baselines.ppo.policies import CnnCorePolicy, MultiInputCorePolicy
from iap_gym.baselines.presets import minigrid as preset
from iap_gym.baselines.small_images import SmallImageExtractor, has_small_images
from iap_gym.cli.main import main
from iap_gym.recurrent.cores import CORES

pytest.importorskip("minigrid")

VIEW = spaces.Box(0, 255, (7, 7, 3), np.uint8)


@pytest.mark.parametrize("env_id", TASKS)
def test_tasks_are_upstreams_with_their_steps(env_id):
    env = gymnasium.make(f"{TASKS[env_id].module}:{env_id}")
    assert env.unwrapped.max_steps == TASKS[env_id].max_steps
    assert env.spec.max_episode_steps is None, "else our steps would not be the limit"
    assert env.action_space == spaces.Discrete(7)


def test_the_list_of_the_command_line_says_how_they_are_made(capsys):
    assert main(["list", "--family", "minigrid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(TASKS)
    for line in lines:
        (name,) = re.findall(r'gym\.make\("([^"]+)"\)', line)
        assert gymnasium.make(name).spec.id == line.split()[0]


def test_paper_tasks_and_transfer_pairs_are_tasks():
    named = [*PAPER_TASKS, *TRANSFER.values()]
    assert set(named) | {"MiniGrid-DoorKey-5x5-v0"} == set(TASKS)
    assert len(named) == len(set(named)) == 9
    assert set(TRANSFER) < set(PAPER_TASKS)


def test_episode_without_success_is_cut_off_at_the_steps_of_the_table():
    env = make_minigrid("MiniGrid-DoorKey-5x5-v0")
    env.reset(seed=0)
    steps = [env.step(0)[1:4] for _ in range(250)]
    assert [step[2] for step in steps] == [False] * 249 + [True]
    assert not is_success(sum(step[0] for step in steps))


def test_solved_episode_is_a_success_with_the_reward_of_the_docs():
    # Cells ahead are read from the view: the agent stands at its bottom, in the middle.
    env = make_minigrid("minigrid:MiniGrid-Empty-5x5-v0")
    env.reset(seed=0)
    total, steps = 0.0, 0
    for action in (2, 2, 1, 2, 2):  # two ahead, turn right, two ahead
        _, reward, terminated, _, _ = env.step(action)
        total, steps = total + reward, steps + 1
    assert terminated
    assert total == pytest.approx(1 - 0.9 * steps / env.unwrapped.max_steps)
    assert is_success(total)


@pytest.mark.parametrize("env_id", [*TASKS, "MiniGrid-RedBlueDoors-6x6-v0"])
def test_observation_is_the_image_of_small_integers(env_id):
    env = make_minigrid(env_id)
    assert env.observation_space == VIEW
    highest = np.zeros(3, int)
    for seed in range(5):
        image, _ = env.reset(seed=seed)
        assert image in VIEW
        highest = np.maximum(highest, image.max((0, 1)))
    assert (highest <= (10, 5, 3)).all()
    assert (highest[:2] > 1).all()


def test_arguments_reach_the_environment():
    env = make_minigrid("MiniGrid-DoorKey-8x8-v0", "rgb_array", agent_view_size=9, tile_size=8)
    assert env.observation_space.shape == (9, 9, 3)
    env.reset(seed=0)
    assert env.render().shape == (64, 64, 3)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "iap_gym/Shepherd-v0", "BabyAI-GoToObj-v0", 3])
def test_other_ids_are_refused(env_id):
    with pytest.raises(ValueError, match="env_id: expected an id of MiniGrid"):
        make_minigrid(env_id)


def test_unknown_tasks_are_unknown_to_gymnasium():
    with pytest.raises(gymnasium.error.NameNotFound, match="DoorKey"):
        make_minigrid("MiniGrid-DoorKy-5x5-v0")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_making_an_environment_loads_no_torch():
    code = (
        "import sys\nfrom iap_gym.baselines.minigrid import make_minigrid\n"
        "make_minigrid('MiniGrid-DoorKey-5x5-v0')\nprint('torch' in sys.modules)"
    )
    assert run(code).stdout.split()[-1] == "False"


def test_without_minigrid_the_extra_is_named():
    code = (
        "import sys; sys.modules['minigrid'] = None\n"
        "from iap_gym.baselines.minigrid import make_minigrid\n"
        "try:\n    make_minigrid('MiniGrid-DoorKey-5x5-v0')\n"
        "except Exception as error:\n    print(error)\n"
    )
    assert 'pip install "iap-gym[minigrid]"' in run(code).stdout


def convolution(image, layer):
    """One convolution of stride 1 without padding over (C, H, W), then ReLU, by the definition."""
    weight, bias = (numbers.detach().numpy().astype(float) for numbers in layer.parameters())
    assert weight.shape[2:] == (2, 2)
    rows, columns = image.shape[1] - 1, image.shape[2] - 1
    out = np.empty((len(weight), rows, columns))
    for row in range(rows):
        for column in range(columns):
            window = image[:, row : row + 2, column : column + 2]
            out[:, row, column] = (weight * window).sum((1, 2, 3)) + bias
    return np.maximum(out, 0)


def pooling(image):
    rows, columns = image.shape[1] // 2, image.shape[2] // 2
    return image[:, : 2 * rows, : 2 * columns].reshape(-1, rows, 2, columns, 2).max((2, 4))


def reference(image, network):
    """The paper's features of one image (H, W, C)."""
    first, second, third = (part for part in network.convolutions if list(part.parameters()))
    hidden = pooling(convolution(image.transpose(2, 0, 1).astype(float), first))
    return convolution(convolution(hidden, second), third).ravel()


@pytest.mark.parametrize("shape", [(7, 7, 3), (9, 9, 3), (8, 8, 3), (16, 8, 3), (11, 11, 6)])
@pytest.mark.parametrize("order", ["channels last", "channels first"])
def test_network_is_the_papers(shape, order):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 11, (2, *shape))
    axes = (0, 1, 2) if order == "channels last" else (2, 0, 1)
    network = MiniGridFeatures(spaces.Box(0, 255, tuple(np.array(shape)[list(axes)]), np.uint8))
    height, width, _ = shape
    assert network.features_dim == 64 * ((height - 1) // 2 - 2) * ((width - 1) // 2 - 2)
    given = images.transpose(0, *(axis + 1 for axis in axes))
    found = network(torch.as_tensor(given, dtype=torch.float32))
    assert found.shape == (2, network.features_dim)
    expected = [reference(image, network) for image in images]
    np.testing.assert_allclose(found.detach(), expected, atol=1e-4)
    assert found.std() > 0


def test_it_has_the_papers_channels_and_64_features_of_minigrids_view():
    network = MiniGridFeatures(VIEW)
    assert network.features_dim == 64
    channels = [p.shape[0] for p in network.parameters() if p.ndim == 4]
    assert channels == [16, 32, 64]


def test_other_entries_of_a_dict_follow_the_features():
    parts = [("direction", spaces.Discrete(4)), ("image", VIEW), ("v", spaces.Box(-1, 1, (2,)))]
    network = MiniGridFeatures(spaces.Dict(parts))
    assert network.features_dim == 64 + 4 + 2
    image = torch.randint(0, 11, (5, 7, 7, 3), generator=torch.Generator().manual_seed(0)).float()
    others = torch.eye(4)[[0, 1, 2, 3, 0]], torch.arange(10.0).reshape(5, 2)
    found = network({"direction": others[0], "image": image, "v": others[1]})
    expected = [reference(one.numpy(), network) for one in image]
    np.testing.assert_allclose(found[:, :64].detach(), expected, atol=1e-4)
    assert torch.equal(found[:, 64:], torch.cat(others, dim=1))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 255, (6, 7, 3), np.uint8),
        spaces.Box(0, 255, (3, 5, 5), np.uint8),
        spaces.Box(-1, 1, (7,)),
        spaces.Dict({"v": spaces.Box(-1, 1, (2,))}),
        spaces.Dict({"a": VIEW, "b": VIEW}),
    ],
    ids=str,
)
def test_spaces_without_one_image_that_is_large_enough_are_refused(space):
    with pytest.raises(ValueError, match="observation_space: expected an image"):
        MiniGridFeatures(space)


@pytest.mark.parametrize("side", [3, 6, 7, 15, 16, 32, 35, 36, 84])
@pytest.mark.parametrize("shape", ["hwc", "chw", "dict"])
def test_a_network_is_chosen_by_what_fits(side, shape):
    """Grids up to 15 cells as they are, small pictures by 255, the others as SB3 takes them."""
    size = (3, side, side) if shape == "chw" else (side, side, 3)
    space = spaces.Box(0, 255, size, np.uint8)
    if shape == "dict":
        space = spaces.Dict({"image": space, "v": spaces.Discrete(3)})
    assert is_grid_view(space) == (7 <= side <= 15)
    assert has_small_images(space) == (8 <= side <= 35)
    kind = MultiInputCorePolicy if shape == "dict" else CnnCorePolicy
    if side < 7:
        return
    seen = _channels_first(space)
    policy = kind(seen, spaces.Discrete(2), lambda _: 1e-3)
    default = CombinedExtractor if shape == "dict" else NatureCNN
    expected = MiniGridFeatures if side <= 15 else SmallImageExtractor if side < 36 else default
    assert type(policy.features_extractor) is expected
    assert policy.normalize_images == (side > 15)


def _channels_first(space):
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: _channels_first(part) for key, part in space.items()})
    if isinstance(space, spaces.Box) and space.shape[0] != 3:
        return spaces.Box(0, 255, (3, *space.shape[:2]), np.uint8)
    return space


@pytest.mark.parametrize(
    "space",
    [spaces.Discrete(3), spaces.Box(-1, 1, (7,)), spaces.Dict({"a": VIEW, "b": VIEW})],
    ids=str,
)
def test_no_image_or_two_are_no_small_view(space):
    assert not is_grid_view(space)


@pytest.mark.parametrize("core", CORES)
def test_preset_is_json_and_a_fresh_copy(core):
    settings = preset(core)
    assert settings["core"] == core
    assert json.loads(json.dumps(settings)) == settings
    settings["policy_kwargs"]["net_arch"]["pi"].append(8)
    assert preset(core)["policy_kwargs"]["net_arch"] == {"pi": [64], "vf": [64]}


def test_changes_replace_and_those_of_the_policy_one_by_one():
    settings = preset("lstm", learning_rate=5e-4, seed=3, policy_kwargs={"hidden_size": 32})
    assert settings["learning_rate"] == 5e-4
    assert settings["seed"] == 3
    plain = preset("lstm")["policy_kwargs"]
    assert settings["policy_kwargs"] == {**plain, "hidden_size": 32}


def test_batches_are_whole_sequences():
    settings = preset()
    assert settings["batch_size"] % settings["bptt"] == 0
    assert settings["n_steps"] % settings["bptt"] == 0
