"""The preset of AttentionAgent against its own network, written in torch."""

import importlib.util
import json

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution.policies import make_policy
from iap_gym.baselines.presets import attention_agent, attention_agent_vector

SIZE, PATCH, STRIDE = 96, 7, 4
CAR = spaces.Box(np.array([-1, 0, 0], np.float32), np.array([1, 1, 1], np.float32))
IMAGE = spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)


class Published(nn.Module):
    """The published network, from the paper and the facts about its code."""

    def __init__(self, outputs):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(147, 4), nn.Linear(147, 4), nn.LSTM(20, 16), nn.Linear(16, outputs)]
        )
        places = [PATCH // 2 + STRIDE * i for i in range(23)]
        self.centers = torch.tensor([[a, b] for a in places for b in places]).float()

    def parameters_in_file_order(self):
        parts = []
        for layer in self.layers:
            state = layer.state_dict()
            parts += [state[name].numpy().ravel() for name in sorted(state)]
        return np.concatenate(parts)

    def forward(self, image, state):
        patches = torch.stack(
            [
                torch.tensor(image[i : i + PATCH, j : j + PATCH] / 255, dtype=torch.float32).ravel()
                for i in range(0, SIZE - PATCH + 1, STRIDE)
                for j in range(0, SIZE - PATCH + 1, STRIDE)
            ]
        )
        query, key, lstm, output = self.layers
        logits = query(patches) @ key(patches).T / 147**0.5
        votes = torch.softmax(logits, dim=-1).sum(0)
        best = torch.argsort(votes, descending=True)[:10]
        features = (self.centers[best] / SIZE).flatten()
        hidden, state = lstm(features.view(1, 1, -1), state)
        return best, torch.tanh(output(hidden.flatten())), state


def policy_for(action_space):
    preset = attention_agent()
    return make_policy(preset["policy"], IMAGE, action_space, preset["policy_kwargs"])


def test_it_has_the_published_number_of_parameters():
    policy = policy_for(CAR)
    assert policy.selector.num_patches == 529
    assert policy.selector.num_parameters == 1184
    assert policy.num_parameters == 3667
    assert policy_for(spaces.Box(-1, 1, (1,), np.float32)).num_parameters == 3633


@pytest.mark.parametrize("action_space", [CAR, spaces.Box(-1, 1, (1,), np.float32)])
def test_it_acts_as_the_published_network_with_the_same_numbers(action_space):
    network, policy = Published(action_space.shape[0]), policy_for(action_space)
    generator = torch.Generator().manual_seed(3)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5, generator=generator)
    policy.set_vector(attention_agent_vector(network.parameters_in_file_order()))
    rng = np.random.default_rng(0)
    low, high = action_space.low, action_space.high
    ours = theirs = None
    seen = set()
    for _ in range(4):
        image = rng.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
        action, ours = policy.act(image[None], ours)
        with torch.no_grad():
            best, output, theirs = network(image, theirs)
        np.testing.assert_array_equal(policy.last_indices[0], best)
        expected = output.numpy() * (high - low) / 2 + (high + low) / 2
        np.testing.assert_allclose(action[0], expected, atol=2e-6)
        seen.update(best.tolist())
    assert len(seen) > 10, "the images must not all select the same patches"


def test_the_preset_is_json_and_a_fresh_copy():
    preset = attention_agent()
    assert json.loads(json.dumps(preset)) == preset
    preset["policy_kwargs"]["hidden_size"] = 3
    assert attention_agent()["policy_kwargs"]["hidden_size"] == 16


@pytest.mark.parametrize("size", [0, 3616, 3666, 3668])
def test_another_number_of_parameters_is_refused(size):
    with pytest.raises(ValueError, match="published: expected shape"):
        attention_agent_vector(np.zeros(size))


@pytest.mark.skipif(importlib.util.find_spec("Box2D") is None, reason="needs extra carracing")
def test_it_trains_on_car_racing():
    algorithm = EvolutionStrategies(
        env="iap_gym.envs.car_racing_variants:iap_gym/CarRacing-v0",
        env_kwargs={"variant": "blob", "max_negative_rewards": 20},
        population_size=2,
        max_episode_steps=4,
        seed=0,
        **attention_agent(),
    )
    before = algorithm.get_vector()
    assert before.shape == (3667,)
    algorithm.learn(12)
    assert algorithm.num_timesteps == 12
    assert not np.array_equal(algorithm.get_vector(), before)
