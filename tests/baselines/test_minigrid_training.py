"""``RecurrentPPO`` on MiniGrid: the preset, and the raw environments with their mission."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.minigrid import MiniGridFeatures, make_minigrid
from iap_gym.baselines.presets import minigrid as preset
from iap_gym.recurrent.cores import CORES
from iap_gym.wrappers import DropTextObservation

pytest.importorskip("minigrid")
ID = "MiniGrid-DoorKey-5x5-v0"
RAW = f"minigrid:{ID}"
SMALL = {"n_steps": 32, "batch_size": 64, "n_epochs": 1}
FEATURES = {
    "features_extractor_class": "iap_gym.baselines.minigrid:MiniGridFeatures",
    "normalize_images": False,
}


def agent(core="gatel0rd", envs=2, **changes):
    env = make_vec_env(make_minigrid, envs, seed=0, env_kwargs={"env_id": ID})
    return RecurrentPPO(env=env, seed=0, **preset(core, **changes))


def trains(model):
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(64 * model.n_envs)
    after = list(model.policy.parameters())
    return all((b != a).any() for b, a in zip(before, after, strict=True))


def test_preset_is_the_papers_network():
    policy = agent().policy
    convolutions = sum(
        inputs * outputs * 4 + outputs for inputs, outputs in ((3, 16), (16, 32), (32, 64))
    )
    core = 4 * (128 * 64 + 64)  # g, r, p and o, each of input and latent state, 64 each
    actor = (64 * 64 + 64) + (64 * 7 + 7)
    critic = (64 * 64 + 64) + (64 + 1)
    count = sum(p.numel() for p in policy.parameters())
    assert count == convolutions + core + actor + critic
    assert isinstance(policy.mlp_extractor.policy_net[1], torch.nn.Tanh)
    assert policy.actor_core is policy.critic_core


def test_preset_starts_with_rows_of_norm_1_and_convolutions_as_torch_has_them():
    model = agent()
    linear = [layer for layer in model.policy.modules() if isinstance(layer, torch.nn.Linear)]
    assert len(linear) == 8
    for layer in linear:
        torch.testing.assert_close(layer.weight.norm(dim=1), torch.ones(len(layer.weight)))
        assert (layer.bias == 0).all()
    for layer in model.policy.features_extractor.modules():
        if isinstance(layer, torch.nn.Conv2d):  # uniform within 1/sqrt(fan-in)
            bound = layer.weight[0].numel() ** -0.5
            assert 0.9 * bound < layer.weight.abs().max() <= bound


def test_preset_reaches_the_optimizer_and_the_buffer():
    model = agent()
    (group,) = model.policy.optimizer.param_groups
    assert (group["lr"], group["eps"], tuple(group["betas"])) == (1e-3, 1e-4, (0.9, 0.999))
    assert model.max_grad_norm == 0.1
    assert model.rollout_buffer.gae_lambda == 0.99
    assert model.clip_range_vf(1.0) == 0.2


def test_network_reads_the_integers_of_the_image_as_they_are():
    model = agent()
    seen = []
    model.policy.features_extractor.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    observation = model.get_env().reset()
    model.policy.predict(observation, episode_start=np.ones(2, bool))
    assert seen[0].shape == (2, 3, 7, 7)
    np.testing.assert_array_equal(seen[0], observation)
    assert seen[0].max() > 1


@pytest.mark.parametrize("core", CORES)
def test_preset_trains_every_core_and_goes_on_after_loading(core, tmp_path):
    model = agent(core, **SMALL)
    assert trains(model)
    model.save(tmp_path / "model")
    again = RecurrentPPO.load(tmp_path / "model", env=model.get_env())
    for (name, one), two in zip(
        model.policy.named_parameters(), again.policy.parameters(), strict=True
    ):
        assert torch.equal(one, two), name
    assert trains(again)


def test_raw_environment_is_trained_on_without_its_mission():
    env = gymnasium.make(RAW)
    model = RecurrentPPO("MultiInputCorePolicy", env, **SMALL)
    assert set(model.observation_space) == {"direction", "image"}
    assert isinstance(model.policy.features_extractor, MiniGridFeatures)
    assert model.policy.features_dim == 64 + 4
    assert trains(model)


def test_worker_processes_with_the_wrapper():
    envs = make_vec_env(
        *(RAW, 2, 0),
        wrapper_class=DropTextObservation,
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": "spawn"},
    )
    single = DropTextObservation(gymnasium.make(RAW)).reset(seed=1)[0]
    np.testing.assert_array_equal(envs.reset()["image"][1], single["image"])
    model = RecurrentPPO("MultiInputCorePolicy", envs, policy_kwargs=dict(FEATURES), **SMALL)
    assert trains(model)
    envs.close()


@pytest.mark.slow
def test_preset_solves_the_small_door_key():
    from iap_gym.baselines.minigrid import is_success

    model = agent(envs=16)
    model.learn(120_000)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    assert np.mean([is_success(value) for value in returns]) > 0.9
