"""Policies that carry a core."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from iap_gym.baselines.ppo import (
    CnnCorePolicy,
    MlpCorePolicy,
    MultiInputCorePolicy,
    row_normalized_,
)
from iap_gym.baselines.ppo.states import join_state, run_core, split_state
from iap_gym.recurrent import CORES, make_core
from tests.baselines.ppo_envs import observation_space

T, B, H = 5, 3, 6
POLICIES = {"vector": MlpCorePolicy, "image": CnnCorePolicy, "dict": MultiInputCorePolicy}


class HalvedFeatures(BaseFeaturesExtractor):
    def __init__(self, observation_space, factor=0.5):
        super().__init__(observation_space, 3)
        self.factor = factor

    def forward(self, observations):
        return observations * self.factor


def make(kind="vector", action_space=None, **kwargs):
    kwargs = {"hidden_size": H, "net_arch": [4]} | kwargs
    torch.manual_seed(0)
    policy = POLICIES[kind](
        channels_first(kind), action_space or spaces.Discrete(3), lambda _: 1e-3, **kwargs
    )
    return policy.eval()


def channels_first(kind):
    """The space that an algorithm gives its policy."""
    image = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    if kind == "image":
        return image
    space = observation_space(kind)
    return spaces.Dict(dict(space.items()) | {"camera": image}) if kind == "dict" else space


def batch(policy, seed=0, length=T):
    """Observations, actions, states and starts of B sequences of some steps each."""
    generator = torch.Generator().manual_seed(seed)
    layers, _, size = policy.lstm_hidden_state_shape
    state = torch.randn(layers, B, policy.actor_core.state_size, generator=generator).abs()
    pair = split_state(state, size)
    obs = torch.rand(B * length, 3, generator=generator)
    actions = torch.randint(3, (B * length,), generator=generator)
    starts = (torch.rand(B * length, generator=generator) < 0.4).float()
    return obs, actions, RNNStates(pair, pair), starts


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("layers", [1, 2])
def test_states_fit_upstreams_two_arrays(name, layers):
    core = make_core(name, 3, H, num_layers=layers)
    state = torch.randn(layers, B, core.state_size)
    pair = split_state(state, H)
    assert [tuple(part.shape) for part in pair] == [(layers, B, H)] * 2
    assert torch.equal(join_state(pair, core.state_size), state)
    assert not pair[1][..., core.state_size - H :].any()
    if name == "lstm":  # h and c
        _, last, _ = core(torch.randn(T, B, 3))
        _, (h, c) = core.network(torch.zeros(0, B, 3)) if T == 0 else (None, split_state(last, H))
        assert torch.equal(torch.cat((h, c), -1), last)


@pytest.mark.parametrize("name", CORES)
def test_a_reset_inside_a_sequence_equals_two_sequences(name):
    core = make_core(name, 3, H).eval()
    features, zeros = torch.randn(B * T, 3), torch.zeros(B * T)
    start = split_state(torch.rand(1, B, core.state_size), H)
    starts = zeros.reshape(B, T).clone()
    starts[1, 2] = 1
    whole, _, _ = run_core(core, features, start, starts.flatten())
    whole = whole.reshape(B, T, H)
    for row in range(B):
        x = features.reshape(B, T, 3)[row]
        state = tuple(part[:, row : row + 1] for part in start)
        first, state, _ = run_core(core, x[:2], state, torch.zeros(2))
        if row == 1:
            state = tuple(torch.zeros_like(part) for part in state)
        second, _, _ = run_core(core, x[2:], state, torch.zeros(3))
        torch.testing.assert_close(whole[row], torch.cat((first, second)))


@pytest.mark.parametrize("sharing", ["shared", "separate"])
@pytest.mark.parametrize("name", CORES)
def test_steps_one_by_one_are_what_the_sequence_gives(name, sharing):
    policy = make(core=name, core_sharing=sharing)
    obs, actions, states, starts = batch(policy)
    values, log_prob, entropy = policy.evaluate_actions(obs, actions, states, starts)
    vf = states.vf
    for t in range(T):
        step = torch.arange(B) * T + t
        now = policy.predict_values(obs[step], vf, starts[step])
        torch.testing.assert_close(now, values[step])
        distribution, _ = policy.get_distribution(obs[step], states.pi, starts[step])
        torch.testing.assert_close(distribution.log_prob(actions[step]), log_prob[step])
        torch.testing.assert_close(distribution.entropy(), entropy[step])
        _, value, _, states = policy.forward(obs[step], states, starts[step])
        torch.testing.assert_close(value, values[step])
        vf = states.vf


def test_a_shared_core_gets_the_gradients_of_both():
    policy = make(core_sharing="shared")
    obs, actions, states, starts = batch(policy)

    def gradients(*parts):
        values, log_prob, _ = policy.evaluate_actions(obs, actions, states, starts)
        losses = {"actor": log_prob.mean(), "critic": values.square().mean()}
        policy.zero_grad()
        sum(losses[part] for part in parts).backward()
        return [p.grad.clone() for p in policy.actor_core.parameters()]

    actor, critic, both = gradients("actor"), gradients("critic"), gradients("actor", "critic")
    for a, c, total in zip(actor, critic, both, strict=True):
        assert a.any()
        assert c.any()
        torch.testing.assert_close(a + c, total)
    assert policy.critic_core is policy.actor_core


def test_separate_cores_get_their_own_gradients():
    policy = make(core_sharing="separate")
    obs, actions, states, starts = batch(policy)
    values, log_prob, _ = policy.evaluate_actions(obs, actions, states, starts)
    values.mean().backward(retain_graph=True)
    assert all(p.grad is None for p in policy.actor_core.parameters())
    assert all(p.grad.any() for p in policy.critic_core.parameters())
    policy.zero_grad()
    log_prob.mean().backward()
    assert all(p.grad is None for p in policy.critic_core.parameters())


@pytest.mark.parametrize("sharing", ["shared", "separate"])
def test_gates_of_all_cores_are_returned_and_nothing_is_kept(sharing):
    policy = make(core_sharing=sharing, core_kwargs={"num_layers": 2}).train()
    obs, actions, states, starts = batch(policy)
    *_, gates = policy.evaluate_with_gates(obs, actions, states, starts)
    cores = 1 if sharing == "shared" else 2
    assert tuple(gates.shape) == (T, B, cores * 2 * H)
    assert gates.requires_grad
    gates.mean().backward()
    for core in {policy.actor_core, policy.critic_core}:
        copy.deepcopy(core)
        pickle.dumps(core)
    assert (
        make(core="gru").evaluate_with_gates(obs, actions, *batch(make(core="gru"))[2:])[3] is None
    )


def test_output_size_of_the_core():
    policy = make(core_kwargs={"output_size": 10})
    assert policy.mlp_extractor.policy_net[0].in_features == 10
    assert batch(policy)[2].pi[0].shape == (1, B, H)
    policy.evaluate_actions(*batch(policy))


@pytest.mark.parametrize("sharing", ["shared", "separate"])
@pytest.mark.parametrize("kind", POLICIES)
def test_a_saved_policy_is_itself_again(tmp_path, kind, sharing):
    policy = make(
        kind,
        spaces.Box(-1, 1, (2,), np.float32),
        core="gatel0rd",
        core_sharing=sharing,
        core_kwargs={"gate": "sigmoid", "num_layers": 2},
        hidden_size=13,
        share_features_extractor=sharing == "shared",
        optimizer_class="RMSprop",
        activation_fn="ReLU",
        row_normalized_init=True,
    )
    policy.save(tmp_path / "policy.pt")
    loaded = type(policy).load(tmp_path / "policy.pt")
    assert loaded.state_dict().keys() == policy.state_dict().keys()
    for name, value in policy.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name
    space = channels_first(kind)
    space.seed(0)
    sample = space.sample()
    answers = [each.predict(sample, deterministic=True) for each in (policy, loaded)]
    for mine, theirs in zip(*answers, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"core": "lstm"}, "core: expected weights of a policy with core='gatel0rd', got 'lstm'"),
        ({"core_sharing": "separate"}, "core_sharing: expected .*'shared', got 'separate'"),
        ({"hidden_size": 7}, "hidden_size: expected .*6, got 7"),
        ({"core_kwargs": {"num_layers": 2}}, "num_layers: expected .*num_layers=1, got 2"),
        ({"core_kwargs": {"gate": "sigmoid"}}, "gate: expected .*gate='retanh', got 'sigmoid'"),
        ({"core_kwargs": {"output_size": 5}}, "output_size: expected .*output_size=6, got 5"),
    ],
)
def test_weights_of_another_core_are_refused(other, named):
    with pytest.raises(ValueError, match=named):
        make().load_state_dict(make(**other).state_dict())


def test_options_that_are_the_same_or_do_not_matter_load():
    given = {"num_layers": np.int64(1), "output_size": 6, "gate_noise": 0.0, "backend": "torch"}
    make(core_kwargs=given).load_state_dict(make().state_dict())
    periods = make(core="clockwork", core_kwargs={"periods": [1, 4, 8]})
    periods.load_state_dict(make(core="clockwork").state_dict())


def test_checkpoints_that_do_not_know_their_options_load():
    old = make().state_dict()
    text = json.dumps({"core": "gatel0rd", "core_sharing": "shared", "hidden_size": 6})
    old["_extra_state"] = torch.tensor(list(text.encode()), dtype=torch.uint8)
    make().load_state_dict(old)


def test_the_optimizer_trains_all_parameters_and_no_others():
    policy = make(core_sharing="separate")
    trained = {id(p) for group in policy.optimizer.param_groups for p in group["params"]}
    assert trained == {id(p) for p in policy.parameters()}
    assert policy.optimizer.param_groups[0]["eps"] == 1e-5  # as in SB3
    assert policy.optimizer.param_groups[0]["lr"] == 1e-3


def test_classes_by_name():
    extractor = f"{__name__}:HalvedFeatures"
    kwargs = {
        "features_extractor_class": extractor,
        "features_extractor_kwargs": {"factor": 0.25},
        "activation_fn": "torch.nn:ReLU",
        "optimizer_class": "SGD",
        "optimizer_kwargs": {"momentum": 0.9},
    }
    policy = make(**copy.deepcopy(kwargs))
    assert policy.features_extractor.factor == 0.25
    assert isinstance(policy.mlp_extractor.policy_net[1], nn.ReLU)
    assert isinstance(policy.optimizer, torch.optim.SGD)
    short = make("dict", features_extractor_class="CombinedExtractor", normalize_images=False)
    assert "extractors.camera.cnn.0.weight" in short.features_extractor.state_dict()


def test_arguments_are_left_as_they_are():
    mine = {"features_extractor_kwargs": {}, "core_kwargs": {"gate": "sigmoid"}}
    make("dict", normalize_images=False, **mine)  # SB3 writes into features_extractor_kwargs
    assert mine == {"features_extractor_kwargs": {}, "core_kwargs": {"gate": "sigmoid"}}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"core": "gpt"}, "core: expected one of 'gatel0rd', .*got 'gpt'"),
        (
            {"core_sharing": "both"},
            "core_sharing: expected one of 'shared', 'separate', got 'both'",
        ),
        ({"hidden_size": 0}, "hidden_size: expected an integer >= 1, got 0"),
        ({"core_kwargs": {"depth": 2}}, "options: .*num_layers.*got 'depth'"),
        ({"lstm_hidden_size": 8}, "policy_kwargs: expected hidden_size, got 'lstm_hidden_size'"),
        ({"n_lstm_layers": 2}, "policy_kwargs: expected num_layers in core_kwargs"),
        ({"hiden_size": 8}, "policy_kwargs: expected names among .*hidden_size.*got 'hiden_size'"),
        ({"activation_fn": "Tanhh"}, "activation_fn: expected a subclass of Module.*got 'Tanhh'"),
        ({"activation_fn": "no.such:Tanh"}, "activation_fn: .*got 'no.such:Tanh'"),
        ({"optimizer_class": "lr_scheduler"}, "optimizer_class: .*got 'lr_scheduler'"),
        ({"features_extractor_class": nn.Linear}, "features_extractor_class: .*got <class"),
        ({"core_kwargs": 5}, "core_kwargs: expected a dict of options of the core, got 5"),
        (
            {"core_kwargs": {"hidden_size": 5}},
            "core_kwargs: .*hidden_size belongs in policy_kwargs",
        ),
        ({"share_features_extractor": False}, "core_sharing: expected 'separate' where.*'shared'"),
        ({"row_normalized_init": 1}, "row_normalized_init: expected True or False, got 1"),
    ],
)
def test_wrong_arguments_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make(**kwargs)


def test_a_dict_needs_the_multi_input_policy():
    with pytest.raises(
        ValueError, match="policy: expected 'MultiInputCorePolicy'.*'MlpCorePolicy'"
    ):
        MlpCorePolicy(observation_space("dict"), spaces.Discrete(2), lambda _: 1e-3)


def test_every_option_of_upstream_is_ours_or_named_otherwise():
    import sb3_contrib.common.recurrent.policies as upstream

    from iap_gym.baselines.ppo.policies import _REPLACED

    theirs = set(inspect.signature(upstream.RecurrentActorCriticPolicy).parameters)
    lstm = {name for name in theirs if "lstm" in name}
    assert lstm == _REPLACED.keys()


def test_rows_are_normalized():
    torch.manual_seed(0)
    policy = make("dict", row_normalized_init=True)
    plain = make("dict")
    linear = [m for m in policy.modules() if isinstance(m, nn.Linear)]
    assert len(linear) == 4 + 1 + 2 + 2  # the core's; NatureCNN's; hidden layers; outputs
    for layer in linear:
        torch.testing.assert_close(layer.weight.norm(dim=1), torch.ones(len(layer.weight)))
        assert not layer.bias.any()
    conv = policy.features_extractor.extractors["camera"].cnn[0]
    assert not torch.equal(conv.weight, plain.features_extractor.extractors["camera"].cnn[0].weight)
    assert not policy.ortho_init


def test_rows_are_uniform_directions_and_lstms_stay():
    torch.manual_seed(0)
    layer = row_normalized_(nn.Linear(2, 20_000))
    angle = torch.atan2(*layer.weight.T.detach())
    # Directions of normal vectors are uniform: the mean of exp(i k angle) is 0 up to 1/sqrt(n).
    for k in (1, 2, 3):
        assert torch.complex((k * angle).cos(), (k * angle).sin()).mean().abs() < 5 / 20_000**0.5
    lstm = nn.LSTM(3, 4)
    before = copy.deepcopy(lstm.state_dict())
    row_normalized_(lstm)
    assert all(torch.equal(before[name], value) for name, value in lstm.state_dict().items())
