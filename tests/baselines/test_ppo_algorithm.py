"""Training, its targets and its penalty; saving and going on."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from iap_gym.baselines import RecurrentPPO
from iap_gym.recurrent import gate_penalty
from iap_gym.recurrent.gates import GATES
from tests.baselines.ppo_envs import KINDS, CountingEnv, RandomEnv

POLICY = {"vector": "MlpCorePolicy", "image": "CnnCorePolicy", "dict": "MultiInputCorePolicy"}


def make(kind="vector", action_space=None, longest=6, envs=None, num_envs=3, **settings):
    settings = {
        "n_steps": 16,
        "batch_size": 24,
        "n_epochs": 2,
        "seed": 0,
        "policy_kwargs": {"hidden_size": 6, "net_arch": [8]},
    } | settings
    if envs is None:
        envs = DummyVecEnv([lambda: RandomEnv(kind, action_space, longest)] * num_envs)
    return RecurrentPPO(POLICY[kind], envs, **settings)


def parameters(model):
    return {name: value.detach().clone() for name, value in model.policy.named_parameters()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


@pytest.mark.parametrize("core", ["gatel0rd", "lstm", "gru", "elman", "clockwork"])
@pytest.mark.parametrize("kind", KINDS)
def test_learns_saves_loads_and_predicts(tmp_path, kind, core):
    model = make(kind, core=core, bptt=8, core_kwargs={"num_layers": 2})
    before = parameters(model)
    model.learn(96)
    assert all(not torch.equal(value, before[name]) for name, value in parameters(model).items())
    model.save(tmp_path / "model")
    loaded = RecurrentPPO.load(tmp_path / "model")
    assert_same(parameters(model), parameters(loaded))
    assert (loaded.core, loaded.bptt, loaded.core_kwargs) == (core, 8, {"num_layers": 2})
    env = RandomEnv(kind)
    obs, _ = env.reset(seed=0)
    states = [None, None]
    for _ in range(4):
        actions = []
        for i, each in enumerate((model, loaded)):
            action, states[i] = each.predict(obs, states[i], np.array([False]), deterministic=True)
            actions.append(action)
        assert actions[0] == actions[1]
        obs = env.observation_space.sample()
    evaluate_policy(loaded, gymnasium.wrappers.TimeLimit(env, 5), 2, warn=False)


@pytest.mark.parametrize(
    "action_space",
    [
        spaces.Discrete(4),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(3),
        spaces.Box(-2, 2, (2,), np.float32),
        spaces.Box(-2, 2, (1, 2), np.float64),
    ],
    ids=str,
)
def test_action_spaces(action_space):
    model = make(action_space=action_space)
    model.learn(96)
    action, _ = model.predict(np.zeros((5, 3), np.float32))
    assert action.shape == (5, *action_space.shape)
    assert all(action_space.contains(each.astype(action_space.dtype)) for each in action)


def test_vec_normalize_and_gsde():
    envs = VecNormalize(
        DummyVecEnv([lambda: RandomEnv("dict", spaces.Box(-1, 1, (2,), np.float32))] * 3),
        norm_obs_keys=["speed"],
    )
    model = make("dict", envs=envs, use_sde=True, sde_sample_freq=4)
    model.learn(96)
    assert envs.obs_rms["speed"].count > 96


@pytest.mark.slow
def test_environments_in_processes():
    found = []
    for kind in (DummyVecEnv, SubprocVecEnv):
        model = make(envs=kind([lambda i=i: RandomEnv(longest=3 + i) for i in range(2)]))
        model.learn(96)
        model.env.close()
        found.append(parameters(model))
    assert_same(*found)


@pytest.mark.parametrize("core", ["gatel0rd", "gru"])
def test_same_seed_same_parameters(core):
    first, second, other = (make(core=core, bptt=4, seed=seed).learn(96) for seed in (1, 1, 2))
    assert_same(parameters(first), parameters(second))
    assert any(not torch.equal(v, parameters(other)[n]) for n, v in parameters(first).items())


def test_training_goes_on_after_loading(tmp_path):
    def schedule(remaining):
        return 1e-2 * remaining

    model = make(learning_rate=schedule, bptt=4, target_kl=None)
    model.learn(96)
    model.save(tmp_path / "model.zip")
    loaded = RecurrentPPO.load(tmp_path / "model.zip", env=model.env)
    rates = []
    for each in (model, loaded):
        each._last_obs = None  # both from new episodes
        each._last_lstm_states = loaded._last_lstm_states
        each.env.seed(3)
        set_random_seed(3)
        each.learn(96, reset_num_timesteps=False)
        rates.append(each.policy.optimizer.param_groups[0]["lr"])
        assert each.num_timesteps == 192
    assert_same(parameters(model), parameters(loaded))
    # At the last update no steps remain of all 192.
    assert rates == [0, 0]
    moments = [next(iter(m.policy.optimizer.state.values()))["exp_avg"] for m in (model, loaded)]
    assert torch.equal(*moments)


@pytest.mark.parametrize("core", ["gatel0rd", "lstm"])
@pytest.mark.parametrize("terminates", [False, True])
def test_value_targets(core, terminates):
    """Truncation goes on with the value of the state after the last step, termination with 0."""
    length, gamma = 5, 0.9
    model = make(
        envs=DummyVecEnv([lambda: CountingEnv(length, terminates)] * 2),
        core=core,
        n_steps=2 * length,
        gamma=gamma,
        gae_lambda=1.0,  # returns are then sums of rewards and the last value
    )
    model.train = lambda: None
    model.learn(4 * length)
    policy = model.policy
    with torch.no_grad():
        # One unroll over all that an episode shows, the observation after its last step too.
        x = torch.arange(length + 1.0).reshape(-1, 1, 1)
        y, _, _ = policy.critic_core(x)
        values = policy.value_net(policy.mlp_extractor.forward_critic(y[:, 0])).flatten().numpy()
    target = 0.0 if terminates else float(values[length])
    wanted = np.zeros(length)
    for step in reversed(range(length)):
        target = (step + 1) + gamma * target
        wanted[step] = target
    buffer = model.rollout_buffer
    np.testing.assert_allclose(
        buffer.values, np.tile(values[:length], 2)[:, None] + [[0, 0]], rtol=1e-4
    )
    np.testing.assert_allclose(buffer.returns, np.tile(wanted, 2)[:, None] + [[0, 0]], rtol=1e-4)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("sharing", ["shared", "separate"])
def test_logged_penalty_is_that_of_the_real_steps(sharing, gate):
    """Of sigmoids, which never close, the mean."""
    model = make(
        core_sharing=sharing,
        core_kwargs={"gate_noise": 0.0, "gate": gate},
        gate_penalty=0.3,
        n_epochs=1,
        batch_size=48,
        learning_rate=0.0,
    )
    model.learn(48)
    logs = model.logger.name_to_value
    policy, buffer = model.policy.eval(), model.rollout_buffer
    (batch,) = buffer.get(None)
    assert not batch.mask.all()  # there is padding
    rates = []
    cores = {policy.actor_core, policy.critic_core}
    starts, observations = buffer.episode_starts, buffer.observations
    for core in cores:
        state = core.initial_state(3)
        state = torch.zeros_like(state)
        # The buffer is flat by now, environments one after the other.
        x = torch.from_numpy(observations.reshape(3, 16, 3)).transpose(0, 1)
        reset = torch.from_numpy(starts.reshape(3, 16) > 0).T
        for step in range(16):
            _, state, extras = core(x[step : step + 1], state, reset[step : step + 1])
            rates.append(extras["gates"].mean().item())
    assert 0 < np.mean(rates) < 1
    assert logs["train/gate_rate"] == pytest.approx(np.mean(rates), abs=1e-6)
    assert logs["train/gate_penalty"] == pytest.approx(0.3 * np.mean(rates), abs=1e-6)
    total = (
        logs["train/policy_gradient_loss"]
        + model.vf_coef * logs["train/value_loss"]
        + logs["train/gate_penalty"]
    )
    assert logs["train/loss"] == pytest.approx(total, abs=1e-5)


def test_padding_has_no_gradient():
    """The gradient of the penalty is that of each sequence alone, weighted by its steps."""
    model = make(core_kwargs={"gate_noise": 0.0})
    model.train = lambda: None
    model.learn(48)
    policy = model.policy
    (batch,) = model.rollout_buffer.get(None)

    def gradient(rows):
        n_seq = len(batch.lstm_states.pi[0][0])
        mask = (batch.mask > 0).reshape(n_seq, -1)
        policy.zero_grad()
        total = torch.zeros(())
        for row in rows:
            keep = int(mask[row].sum())
            step = slice(row * mask.shape[1], row * mask.shape[1] + keep)
            pair = tuple(part[:, row : row + 1] for part in batch.lstm_states.pi)
            *_, gates = policy.evaluate_with_gates(
                batch.observations[step],
                batch.actions[step].flatten(),
                RNNStates(pair, pair),
                batch.episode_starts[step],
            )
            total = total + gates.mean() * keep / mask.sum()
        total.backward()
        return [p.grad.clone() for p in policy.actor_core.parameters() if p.grad is not None]

    n_seq = batch.lstm_states.pi[0].shape[1]
    wanted = gradient(range(n_seq))
    policy.zero_grad()
    *_, gates = policy.evaluate_with_gates(
        batch.observations, batch.actions.flatten(), batch.lstm_states, batch.episode_starts
    )
    gate_penalty(gates, (batch.mask > 0).reshape(n_seq, -1).T).backward()
    found = [p.grad for p in policy.actor_core.parameters() if p.grad is not None]
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


def test_the_penalty_closes_gates():
    rates = []
    for weight in (0.0, 10.0):
        model = make(gate_penalty=weight, learning_rate=1e-2, policy_kwargs={"hidden_size": 6})
        model.learn(960)
        rates.append(model.logger.name_to_value["train/gate_rate"])
    assert rates[1] < 0.1 < rates[0]


def test_cores_without_gates_log_none():
    model = make(core="gru")
    model.learn(48)
    assert "train/value_loss" in model.logger.name_to_value
    assert not any("gate" in name for name in model.logger.name_to_value)


def test_first_ratio_is_one_without_gate_noise():
    kl = []
    for noise in (0.0, 1.0):
        model = make(core_kwargs={"gate_noise": noise}, n_epochs=1, batch_size=48)
        model.learn(48)
        kl.append(model.logger.name_to_value["train/approx_kl"])
    assert abs(kl[0]) < 1e-9
    assert kl[1] > 1e-9  # rollouts are without noise, updates with it


def test_a_checkpoint_of_another_core_is_refused(tmp_path):
    path = tmp_path / "model.zip"
    make(core="gru").save(path)
    wanted = "core: expected weights of a policy with core='lstm', got 'gru'"
    with pytest.raises(ValueError, match=wanted):
        RecurrentPPO.load(path, core="lstm")
    with pytest.raises(ValueError, match=wanted):
        make(core="lstm").set_parameters(path)
    with pytest.raises(ValueError, match="hidden_size: expected .*7, got 6"):
        make(core="gru", policy_kwargs={"hidden_size": 7}).set_parameters(path)
    make(core_kwargs={"num_layers": 2}).save(path)
    with pytest.raises(ValueError, match="num_layers: expected .*num_layers=1, got 2"):
        RecurrentPPO.load(path, core_kwargs=None)
    with pytest.raises(ValueError, match="gate: expected .*gate='sigmoid', got 'retanh'"):
        RecurrentPPO.load(path, core_kwargs={"num_layers": 2, "gate": "sigmoid"})
    assert RecurrentPPO.load(path).policy.actor_core.num_layers == 2


def test_loading_keeps_and_changes_settings(tmp_path):
    make(gate_penalty=0.5, bptt=4).save(tmp_path / "model.zip")
    kept = RecurrentPPO.load(tmp_path / "model.zip")
    assert (kept.gate_penalty, kept.bptt) == (0.5, 4)
    changed = RecurrentPPO.load(tmp_path / "model.zip", gate_penalty=0.0, bptt=None)
    assert (changed.gate_penalty, changed.bptt) == (0.0, None)
    with pytest.raises(ValueError, match="bptt: expected"):
        RecurrentPPO.load(tmp_path / "model.zip", bptt=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"core": "gpt"}, "core: expected one of .*got 'gpt'"),
        ({"core_sharing": "both"}, "core_sharing: expected one of .*got 'both'"),
        ({"gate_penalty": -1.0}, "gate_penalty: expected a finite number >= 0, got -1.0"),
        ({"gate_penalty": float("nan")}, "gate_penalty: expected a finite number"),
        ({"core_kwargs": {"gate": "relu"}}, "gate: expected one of"),
        ({"policy_kwargs": {"core": "gru"}}, "policy_kwargs: expected core beside them"),
    ],
)
def test_wrong_arguments_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


@pytest.mark.parametrize("policy", ["MlpLstmPolicy", "MlpPolicy"])
def test_other_policies_are_refused(policy):
    with pytest.raises(ValueError, match=f"policy: expected one of 'MlpCorePolicy', .*'{policy}'"):
        RecurrentPPO(policy, RandomEnv())


def test_upstreams_policy_classes_are_refused():
    from sb3_contrib.ppo_recurrent import MlpLstmPolicy

    with pytest.raises(ValueError, match="policy: expected a subclass of CorePolicy"):
        RecurrentPPO(MlpLstmPolicy, RandomEnv())


def test_predict_with_wrong_state_or_starts():
    model = make()
    obs = np.zeros((4, 3), np.float32)
    _, state = model.predict(obs)
    with pytest.raises(ValueError, match=r"state: expected two .* = \(1, 2, 6\), got \(1, 4, 6\)"):
        model.predict(obs[:2], state)
    with pytest.raises(ValueError, match=r"episode_start: expected .*\(4,\), got \(2,\)"):
        model.predict(obs, state, np.zeros(2, bool))
    with pytest.raises(
        ValueError, match="state: expected two arrays, .*got <class 'numpy.ndarray'>"
    ):
        model.predict(obs, state[0])


def test_text_is_left_out():
    class Talking(RandomEnv):
        def __init__(self):
            super().__init__("vector")
            self.observation_space = spaces.Dict(
                {"speed": spaces.Box(-1, 1, (3,), np.float32), "mission": spaces.Text(5)}
            )

    model = RecurrentPPO(
        "MultiInputCorePolicy", Talking(), n_steps=8, batch_size=8, policy_kwargs={"hidden_size": 4}
    )
    assert list(model.observation_space) == ["speed"]
    model.learn(8)


def test_minigrid_by_id():
    pytest.importorskip("minigrid")
    model = RecurrentPPO(
        "MultiInputCorePolicy",
        "MiniGrid-Empty-5x5-v0",
        n_steps=8,
        batch_size=8,
        policy_kwargs={
            "features_extractor_class": "iap_gym.baselines.minigrid:MiniGridFeatures",
            "normalize_images": False,
        },
    )
    model.learn(8)
    assert set(model.observation_space) == {"image", "direction"}


def test_text_inside_a_vec_env_is_refused():
    envs = DummyVecEnv([RandomEnv])
    # DummyVecEnv fails on text by itself; SubprocVecEnv takes it.
    envs.observation_space = spaces.Dict(
        {"mission": spaces.Text(5), "speed": envs.observation_space}
    )
    with pytest.raises(ValueError, match="env: .*DropTextObservation"):
        RecurrentPPO("MultiInputCorePolicy", envs)
