"""The model in torch: its equations, its sizes, its ways of being called."""

import copy
import pickle

import pytest
import torch

from iap_gym.baselines import WorldModel
from iap_gym.baselines.world_model.scenarios import SCENARIOS
from tests.baselines.world_model.cases import ACT, CORES, FUSED, OBS, batch, make
from tests.baselines.world_model.naive import run_naively

# of the published code, GateL0RD, LSTM, GRU, Elman
PARAMETERS = {
    "billiard": (9226, 13586, 12298, 11306),
    "rrc": (1716, 1884, 1604, 1316),
    "shepherd": (8319, 8159, 7687, 7271),
    "fetch": (6971, 7563, 6491, 5403),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_published_models_have_their_numbers_of_parameters(name):
    cores = ("gatel0rd", "lstm", "gru", "elman")
    models = [WorldModel(**SCENARIOS[name].model_settings(core)) for core in cores]
    assert tuple(model.num_parameters for model in models) == PARAMETERS[name]


@pytest.mark.parametrize("name", FUSED)
def test_equations(name):
    model = make(name, torch.float64).train()
    observations, actions, real = batch(dtype=torch.float64)
    noise = model.draw_noise(*actions.shape[:2])
    found = model(observations, actions, real, noise=noise)
    predictions, gates = run_naively(model, observations, actions, real, noise)
    torch.testing.assert_close(found.observations, predictions, rtol=0, atol=1e-13)
    assert (found.gates is None) == (gates is None)
    if gates is not None:
        torch.testing.assert_close(found.gates, gates, rtol=0, atol=1e-13)


def test_without_f_init_the_state_begins_with_zeros():
    model = make(context_widths=None, dtype=torch.float64).eval()
    observations, actions, real = batch(dtype=torch.float64)
    found = model(observations, actions, real)
    expected, _ = run_naively(model, observations, actions, real)
    torch.testing.assert_close(found.observations, expected, rtol=0, atol=1e-13)
    state = model.core.initial_state(actions.shape[1])
    again = model(observations, actions, real, state)
    assert torch.equal(found.observations, again.observations)


@pytest.mark.parametrize("name", CORES)
def test_steps_are_the_same_as_a_sequence(name):
    model = make(name, torch.float64).eval()
    observations, actions, _ = batch(dtype=torch.float64)
    whole = model(observations, actions)
    state, told = None, []
    for observation, action in zip(observations[:-1], actions, strict=True):
        predicted, state = model.step(observation, action, state)
        told.append(predicted)
    # f_init sees two inputs: there is no prediction after the first
    assert torch.equal(told[0], observations[0])
    torch.testing.assert_close(torch.stack(told[1:]), whole.observations[1:], rtol=0, atol=1e-13)
    torch.testing.assert_close(state.core, whole.state, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", CORES)
def test_sequences_go_on_from_a_state(name):
    model = make(name, torch.float64).eval()
    observations, actions, _ = batch(dtype=torch.float64)
    whole = model(observations, actions)
    first = model(observations[:4], actions[:4])
    second = model(observations[4:], actions[4:], state=first.state)
    torch.testing.assert_close(second.observations, whole.observations[4:], rtol=0, atol=1e-13)
    # and from its own prediction
    blind = model(observations[:4], actions)
    last = model(first.observations[-1:], actions[4:], state=first.state)
    torch.testing.assert_close(last.observations, blind.observations[4:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["gatel0rd", "lstm", "clockwork"])
def test_plans_from_the_middle_of_an_episode(name):
    model = make(name, torch.float64).eval()
    observations, actions, _ = batch(time=9, size=1, dtype=torch.float64)
    plans = torch.randn(5, 4, ACT, dtype=torch.float64)
    state = None
    for t in range(4):
        if t >= 1:  # two observations are enough, of which the state may hold one
            told = model.rollout(observations[t : t + 1], plans, state)
            for plan in range(4):
                moves = torch.cat((actions[:t], plans[:, plan : plan + 1]))
                expected = model(observations[: t + 1], moves).observations[t:]
                torch.testing.assert_close(told[:, [plan]], expected, rtol=0, atol=1e-13)
        _, state = model.step(observations[t], actions[t], state)
    with pytest.raises(ValueError, match=r"observations: expected at least 2 steps"):
        model.rollout(observations[:1], plans)


def test_noise_is_of_training_alone_and_comes_from_its_generator():
    model = make()
    assert model.eval().draw_noise(3, 4) is None
    assert make("lstm").train().draw_noise(3, 4) is None
    generator = torch.Generator().manual_seed(5)
    noise = model.train().draw_noise(400, 50, generator)
    assert noise.shape == (400, 50, 5)
    assert abs(noise.std().item() - 0.1) < 0.002  # 100,000 numbers: 7 standard errors
    again = model.draw_noise(400, 50, torch.Generator().manual_seed(5))
    assert torch.equal(noise, again)


def test_teacher_forcing_takes_all_observations():
    model = make().eval()
    observations, actions, _ = batch()
    real = torch.ones(actions.shape[:2], dtype=torch.bool)
    forced = model(observations, actions, real)
    assert torch.equal(forced.observations, model(observations, actions).observations)


def test_models_can_be_copied_and_saved(tmp_path):
    observations, actions, real = batch()
    for name in CORES:
        model = make(name).eval()
        expected = model(observations, actions, real).observations
        expected.sum().backward()
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        model.save(tmp_path / "model.safetensors")
        copies.append(WorldModel.load(tmp_path / "model.safetensors", "torch").eval())
        for other in copies:
            assert torch.equal(other(observations, actions, real).observations, expected)
    assert WorldModel.load(tmp_path / "model.safetensors").settings == model.settings


def test_files_that_hold_no_model(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(FileNotFoundError):
        WorldModel.load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"expected a file of a world model"):
        WorldModel.load(path)
    make().save(path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"expected a file of a world model"):
        WorldModel.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 0}, r"hidden_size: expected an integer >= 1"),
        ({"pre_widths": ()}, r"pre_widths: expected at least one layer"),
        ({"pre_widths": (8, 0)}, r"pre_widths\[1\]"),
        ({"context_inputs": 0}, r"context_inputs"),
        ({"residual_scale": 0.0}, r"residual_scale"),
        ({"backend": "cuda"}, r"backend: expected one of"),
    ],
)
def test_bad_settings(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_bad_cores():
    with pytest.raises(ValueError, match=r"name: expected one of 'gatel0rd'"):
        WorldModel(OBS, ACT, "transformer")
    with pytest.raises(ValueError, match=r"core_options: expected a dict"):
        WorldModel(OBS, ACT, core_options=[1])
    with pytest.raises(ValueError, match=r"options"):
        WorldModel(OBS, ACT, "lstm", core_options={"gate": "sigmoid"})


def test_bad_tensors():
    model = make().eval()
    observations, actions, real = batch()
    bad = [
        ((observations[0], actions), r"observations: expected a tensor, float32"),
        ((observations[..., :2], actions), r"observations: .*shape \(T', 21, 3\)"),
        ((observations.double(), actions), r"observations: .*got 'float64"),
        ((observations, actions[:, :5]), r"observations: .*shape \(T', 5, 3\)"),
        ((observations, actions.numpy()), r"actions: .*got 'ndarray'"),
        ((observations, actions[:0]), r"actions: expected at least one step"),
        ((observations[:1], actions), r"observations: expected at least 2 steps"),
        ((observations, actions, real.float()), r"real: expected a tensor, bool"),
        ((observations, actions, real[:3]), r"real: .*\(7, 21\)"),
        ((observations, actions, real, torch.zeros(1, 2, 5)), r"state: .*\(1, 21, 5\)"),
    ]
    for arguments, message in bad:
        with pytest.raises(ValueError, match=message):
            model(*arguments)
    with pytest.raises(ValueError, match=r"noise: .*\(7, 21, 5\)"):
        model(observations, actions, noise=torch.zeros(7, 21, 4))
    with pytest.raises(ValueError, match=r"observations"):
        model.step(observations[0, :3], actions[0])
    _, state = model.step(observations[0, :3], actions[0, :3])
    with pytest.raises(ValueError, match=r"state: expected that of 21 sequences, got 'one of 3'"):
        model.step(observations[0], actions[0], state)
    _, state = model.step(observations[1, :3], actions[1, :3], state)
    with pytest.raises(ValueError, match=r"state: expected .* of shape \(1, 21, 5\)"):
        model.step(observations[0], actions[0], state)
    with pytest.raises(ValueError, match=r"state: expected .* the second 1 or B = 21"):
        model.rollout(observations[:1], actions, state)
    with pytest.raises(ValueError, match=r"observations: expected .* the second 1 or B = 21"):
        model.rollout(observations[:2, :3], actions)
    with pytest.raises(ValueError, match=r"actions: expected a tensor of shape \(T, B, A\)"):
        model.rollout(observations[:2], actions[0])
