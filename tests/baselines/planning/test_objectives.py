"""Costs of plans against loops over single steps, and an agent that uses them."""

import numpy as np
import pytest
import torch

from iap_gym.baselines import WorldModel
from iap_gym.baselines.planning.agent import PlanningAgent
from iap_gym.baselines.planning.objectives import ModelObjective, SimulatorObjective, Step
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.planning.tasks import TASKS, robot_cost
from iap_gym.baselines.world_model.scenarios import SCENARIOS

RRC, SHEPHERD = TASKS.values()
QUICK = PlannerSettings(horizon=20, num_samples=40, iterations=2)


@pytest.mark.parametrize("task", [RRC, SHEPHERD], ids=lambda task: task.env)
def test_the_simulator_costs_what_an_environment_would(task):
    env, rng = task.make_env(), np.random.default_rng(0)
    env.reset(seed=3)
    for _ in range(4):
        env.step(env.action_space.sample())
    world = env.unwrapped
    objective = SimulatorObjective(world.world, task.cost, world.get_state)
    assert objective.look(np.zeros(0, np.float32), None)
    present, plans = world.get_state(), rng.uniform(-1, 1, (5, 30, *env.action_space.shape))
    costs = objective(plans)
    np.testing.assert_array_equal(world.get_state(), present)
    for plan, cost in zip(plans, costs, strict=True):
        world.set_state(present)
        seen = [world.step(action)[0] for action in plan]
        assert cost == pytest.approx(sum(float(task.cost(o)) for o in seen), rel=1e-6)


def model_of(scenario, core, dtype=torch.float64):
    torch.manual_seed(0)
    return WorldModel(**SCENARIOS[scenario].model_settings(core)).to(dtype).train()


@pytest.mark.parametrize(("scenario", "core"), [("rrc", "gatel0rd"), ("shepherd", "lstm")])
def test_a_model_costs_what_its_sequence_predicts(scenario, core):
    """After some real steps, and at once where f_init sees one input."""
    model, task = model_of(scenario, core), TASKS[SCENARIOS[scenario].env]
    objective, k = ModelObjective(model, task.cost), model.context_inputs
    rng = np.random.default_rng(0)
    seen = rng.uniform(-0.5, 0.5, (6, model.obs_size)).astype(np.float32)
    done = rng.uniform(-1, 1, (6, model.action_size)).astype(np.float32)
    plans = rng.uniform(-1, 1, (3, 9, model.action_size))
    memory = None
    for t in range(6):
        assert objective.look(seen[t], memory) == (t + 1 >= k)
        if t + 1 >= k:
            costs = objective(plans)
            past = torch.as_tensor(seen[: t + 1], dtype=torch.float64)[:, None]
            for plan, cost in zip(plans, costs, strict=True):
                actions = torch.as_tensor(np.concatenate([done[:t], plan]), dtype=torch.float64)
                with torch.no_grad():
                    told = model(past, actions[:, None]).observations[t:, 0].numpy()
                assert cost == pytest.approx(task.cost(told).sum(), rel=1e-9)
        memory = objective.remember(Step(seen[t], done[t]), memory)


def play(agent, env, seed, observed=None):
    observation, _ = env.reset(seed=seed)
    state, actions = None, []
    for _ in range(50):
        chosen, state = agent.act(observation[None], state, observed)
        assert chosen.shape == (1, *env.action_space.shape)
        assert chosen.dtype == np.float32
        actions.append(chosen[0])
        observation, reward, terminated, _, _ = env.step(chosen[0])
        if terminated:
            return reward, np.array(actions)
    return 0.0, np.array(actions)


def test_an_agent_solves_the_task_on_the_true_simulator():
    env = RRC.make_env()
    found = []
    for seed in range(3):
        world = env.unwrapped
        objective = SimulatorObjective(world.world, robot_cost, world.get_state)
        space, settings = env.action_space, RRC.settings
        rng = np.random.default_rng(seed)
        found.append(
            play(PlanningAgent(objective, space.low, space.high, rng, settings), env, seed)
        )
    assert [reward for reward, _ in found] == [1.0] * 3


def test_an_agent_waits_and_begins_anew():
    model = model_of("shepherd", "gatel0rd", torch.float32)
    objective = ModelObjective(model, SHEPHERD.cost)
    low, high = [-1.0] * 3, [1.0] * 3

    def agent(seed):
        rng = np.random.default_rng(seed)
        return PlanningAgent(objective, low, high, rng, QUICK, SHEPHERD.waits)

    observation = np.full((1, 7), 0.1, np.float32)
    one = agent(0)
    first, state = one.act(observation)
    assert first[0].tolist() == [0.0, 0.0, 1.0]
    assert state.core is None
    second, after = one.act(observation, state)
    assert np.abs(second[0] - first[0]).max() > 0
    assert after.core is not None
    # an old state does not matter where an episode starts
    again, begun = one.act(observation, after, np.array([True]))
    assert again[0].tolist() == [0.0, 0.0, 1.0]
    assert begun.core is None
    # the same random numbers, the same plan
    other = agent(0)
    _, state = other.act(observation)
    np.testing.assert_array_equal(other.act(observation, state)[0], second)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action_low": [-1.0]}, "^action_high: expected as many numbers as action_low has, 1"),
        ({"action_high": "high"}, "^action_high: expected finite numbers"),
        (
            {"action_low": torch.zeros(2, requires_grad=True)},
            "^action_low: expected finite numbers",
        ),
        ({"waits": [0.0]}, r"^waits: expected finite numbers of shape \(2,\), got \[0.0\]"),
        ({"waits": [0.0, np.nan]}, "^waits: expected finite numbers"),
    ],
)
def test_an_agent_names_what_it_was_given(change, message):
    arguments = {"action_low": [-1, -1], "action_high": [1, 1], "waits": [0, 0]}
    objective = SimulatorObjective(RRC.make_env().unwrapped.world, robot_cost, lambda: None)
    with pytest.raises(ValueError, match=message):
        PlanningAgent(objective, rng=np.random.default_rng(0), **{**arguments, **change})
