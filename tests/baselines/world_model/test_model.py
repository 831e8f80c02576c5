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
    again = model(observations, actions, real, model.begin(actions.shape[1]))
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
    torch.testing.assert_close(state.core, whole.state.core, rtol=0, atol=1e-13)


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


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("context_widths", [(7,), None])
@pytest.mark.parametrize("split", [0, 1, 2, 4])
def test_one_state_goes_through_sequences_steps_and_plans(name, context_widths, split):
    """Wherever a sequence is cut, and whatever computes the two parts, it stays the sequence."""
    model = make(name, torch.float64, context_widths=context_widths).eval()
    observations, actions, _ = batch(dtype=torch.float64)
    whole = model(observations, actions)
    states = {"step": model.begin(actions.shape[1])}
    for t in range(split):
        _, states["step"] = model.step(observations[t], actions[t], states["step"])
    if split >= max(1, model.context_inputs):
        states["sequence"] = model(observations[:split], actions[:split]).state
    for state in states.values():
        longer = model(observations[split:], actions[split:], state=state)
        told = longer.observations
        torch.testing.assert_close(told, whole.observations[split:], rtol=0, atol=1e-13)
        torch.testing.assert_close(longer.state, whole.state, rtol=0, atol=1e-13)
        assert (longer.gates is None) == (whole.gates is None)
        if whole.gates is not None:
            torch.testing.assert_close(longer.gates, whole.gates[split:])
        plans = model.rollout(observations[split:-1], actions[split:], state)
        torch.testing.assert_close(plans, whole.observations[split:], rtol=0, atol=1e-13)
        for t in range(split, len(actions)):
            predicted, state = model.step(observations[t], actions[t], state)
            if t + 1 >= model.context_inputs:
                torch.testing.assert_close(predicted, whole.observations[t], rtol=0, atol=1e-13)
        torch.testing.assert_close(state, whole.state, rtol=0, atol=1e-13)


def test_what_a_state_holds_for_f_init_counts_as_real_and_has_no_noise():
    model = make(dtype=torch.float64).train()
    observations, actions, real = batch(dtype=torch.float64)
    noise = torch.randn(*actions.shape[:2], 5, dtype=torch.float64)
    noise[0] = 0.0
    whole = model(observations, actions, real, noise=noise)
    _, state = model.step(observations[0], actions[0])
    parts = observations[1:], actions[1:], real[1:], state, noise[1:]
    torch.testing.assert_close(model(*parts).observations, whole.observations[1:])
    first, second = (
        model(*parts[:4], generator=torch.Generator().manual_seed(1)).observations for _ in "ab"
    )
    assert torch.equal(first, second)
    assert first.shape == whole.observations[1:].shape


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
        ({"context_inputs": 0}, r"^context_inputs: expected an integer >= 1"),
        ({"context_inputs": "2", "context_widths": None}, r"^context_inputs: expected"),
        ({"context_widths": (8, 0)}, r"^context_widths\[1\]: expected an integer >= 1"),
        ({"context_widths": 8}, r"^context_widths: expected a sequence"),
        ({"residual_scale": 0.0}, r"residual_scale"),
        ({"backend": "cuda"}, r"backend: expected one of"),
    ],
)
def test_bad_settings(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("core", "options", "message"),
    [
        ("transformer", None, r"^core: expected one of 'gatel0rd'"),
        (["lstm"], None, r"^core: expected one of 'gatel0rd'"),
        ("gru", [1], r"^core_options: expected a dict"),
        (
            "lstm",
            {"gate": "sigmoid"},
            r"^core_options: expected options of 'lstm' among num_layers",
        ),
        ("lstm", {"num_layers": 0}, r"^core_options: num_layers: expected an integer >= 1"),
        ("gatel0rd", {"backend": "cuda"}, r"^core_options: backend: expected one of"),
        ("gatel0rd", {"gate": "relu"}, r"^core_options: gate: expected one of"),
        ("clockwork", {"periods": [4, 1]}, r"^core_options: periods: expected rising"),
        ("gru", {"hidden_size": 3}, r"^core_options: expected no 'hidden_size'"),
        ("gru", {1: 3}, r"^core_options: expected no 1"),
    ],
)
def test_bad_cores(core, options, message):
    with pytest.raises(ValueError, match=message):
        WorldModel(OBS, ACT, core, core_options=options)


def test_too_few_numbers_for_a_core():
    with pytest.raises(ValueError, match=r"^hidden_size: expected at least one number for each"):
        WorldModel(OBS, ACT, "clockwork", hidden_size=2)


def test_a_file_is_not_blamed_for_a_backend(tmp_path):
    make().save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"^backend: expected one of 'auto'"):
        WorldModel.load(tmp_path / "model.safetensors", "cuda")


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
    ]
    for arguments, message in bad:
        with pytest.raises(ValueError, match=message):
            model(*arguments)
    with pytest.raises(ValueError, match=r"noise: .*\(7, 21, 5\)"):
        model(observations, actions, noise=torch.zeros(7, 21, 4))
    with pytest.raises(ValueError, match=r"observations: expected .* the second 1 or B = 21"):
        model.rollout(observations[:2, :3], actions)
    with pytest.raises(ValueError, match=r"actions: expected a tensor of shape \(T, B, A\)"):
        model.rollout(observations[:2], actions[0])


def test_bad_steps():
    model = make().eval()
    observations, actions, _ = batch()
    for arguments, message in (
        ((observations[:1], actions[0]), r"^observation: .*of shape \(B, 3\)"),
        ((observations[0, :, :2], actions[0]), r"^observation: .*of shape \(B, 3\)"),
        ((observations[0].numpy(), actions[0]), r"^observation: .*got 'ndarray'"),
        ((observations[0].double(), actions[0]), r"^observation: .*got 'float64"),
        ((observations[0, :0], actions[0, :0]), r"^observation: expected at least one sequence"),
        ((observations[0, :3], actions[0]), r"^action: .*of shape \(3, 2\)"),
        ((observations[0], actions[:1]), r"^action: .*of shape \(21, 2\)"),
        ((observations[0], None), r"^action: .*got 'NoneType'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.step(*arguments)


def test_bad_states():
    """Refused by all three that take a state, in the same words."""
    model, other = make().eval(), make("3 lstm").eval()
    observations, actions, _ = batch()
    ways = (
        lambda state: model(observations, actions, state=state),
        lambda state: model.step(observations[0], actions[0], state),
        lambda state: model.rollout(observations[:2], actions, state),
    )
    _, first = model.step(observations[0], actions[0])
    _, second = model.step(observations[1], actions[1], first)
    _, few = model.step(observations[0, :3], actions[0, :3])
    few_later = model(observations[:, :3], actions[:, :3]).state
    for state, message in (
        (second.core, r"^state: expected a ModelState, .*got 'float32 of shape \(1, 21, 5\)'"),
        (tuple(second), r"^state: expected a ModelState, .*got 'tuple'"),
        (other(observations, actions).state, r"^state\.core: .*of shape \(1, B, 5\)"),
        (second._replace(core=second.core.double()), r"^state\.core: .*got 'float64"),
        (first._replace(first=first.first[..., 1:]), r"^state\.first: .*of shape \(j, B, 5\)"),
        (first._replace(first=first.first.repeat(2, 1, 1)), r"^state\.first: expected at most 1"),
        (second._replace(first=first.first), r"^state\.first: expected at most 0"),
        (few, r"^state: expected that of .*21 sequences, got 'one of 3'"),
        (few_later, r"^state: expected that of .*21 sequences, got 'one of 3'"),
    ):
        for way in ways:
            with pytest.raises(ValueError, match=message):
                way(state)
