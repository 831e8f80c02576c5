"""Sequences of at most bptt steps."""

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from iap_gym.baselines import RecurrentPPO
from tests.baselines.ppo_envs import RandomEnv


def collected(bptt, n_steps=16, longest=6, kind="vector", **settings):
    """An algorithm with a full buffer, without noise on its gates."""
    core = settings.pop("core", "gatel0rd")
    model = RecurrentPPO(
        "MultiInputCorePolicy" if kind == "dict" else "MlpCorePolicy",
        DummyVecEnv([lambda: RandomEnv(kind, longest=longest)] * 3),
        core=core,
        core_kwargs={"gate_noise": 0.0} if core == "gatel0rd" else None,
        bptt=bptt,
        n_steps=n_steps,
        seed=1,
        policy_kwargs={"hidden_size": 4, "net_arch": [4]},
        **settings,
    )
    model.train = lambda: None  # collects, and leaves the weights as they are
    model.learn(n_steps * 3)
    return model


def real_steps(batch):
    """Numbers of the real steps of each sequence, and its actions' log probabilities."""
    n_seq = batch.lstm_states.pi[0].shape[1]
    mask = (batch.mask > 0).reshape(n_seq, -1)
    logs = batch.old_log_prob.reshape(n_seq, -1)
    return [row[keep] for row, keep in zip(logs, mask, strict=True)]


@pytest.mark.parametrize("kind", ["vector", "dict"])
@pytest.mark.parametrize(
    ("bptt", "n_steps", "batch_size"),
    [(4, 16, 8), (4, 16, 48), (4, 16, 20), (5, 16, 10), (4, 18, 8), (16, 16, 8), (100, 16, 8)],
)
def test_minibatches_are_a_partition_in_short_sequences(kind, bptt, n_steps, batch_size):
    model = collected(bptt, n_steps, longest=12, kind=kind)
    for _ in range(5):
        found = []
        for batch in model.rollout_buffer.get(batch_size):
            sequences = real_steps(batch)
            assert max(map(len, sequences)) <= bptt
            found.append(torch.cat(sequences))
            assert len(found[-1]) == batch_size or len(found) * batch_size > n_steps * 3
        everything = np.sort(torch.cat(found).numpy())
        np.testing.assert_array_equal(everything, np.sort(model.rollout_buffer.log_probs.ravel()))


def test_no_padding_where_sequences_fit():
    model = collected(4, longest=10_000)
    for batch in model.rollout_buffer.get(8):
        assert batch.mask.all()
        assert len(batch.mask) == 8


def test_cuts_are_those_of_the_rollout():
    model = collected(5, n_steps=16, longest=10_000)
    (batch,) = model.rollout_buffer.get(None)
    lengths = sorted(len(sequence) for sequence in real_steps(batch))
    # A random step begins the batch, so that the first sequence may be in two parts.
    whole = sorted([5, 5, 5, 1] * 3)
    assert lengths == whole or (sum(lengths) == 48 and len(lengths) == 13)


@pytest.mark.parametrize("core", ["gatel0rd", "lstm", "clockwork"])
@pytest.mark.parametrize("longest", [6, 1000])
def test_gradient_is_that_of_the_whole_sequence_cut_every_bptt_steps(core, longest):
    bptt, n_steps = 4, 16
    model = collected(bptt, n_steps, longest, core=core)
    policy, buffer = model.policy, model.rollout_buffer

    rng = torch.Generator().manual_seed(0)
    weights = torch.randn(3 * n_steps, generator=rng)  # of each step's value in a sum
    order = torch.from_numpy(np.argsort(buffer.log_probs.T.ravel()))
    policy.zero_grad()
    # Environments one after the other, as the buffer flattens them.
    starts = torch.from_numpy(buffer.episode_starts.T.copy())
    observations = torch.from_numpy(buffer.observations.swapaxes(0, 1).copy())
    by_hand = []
    for env in range(3):
        state = policy.actor_core.initial_state(1)
        for step in range(n_steps):
            if step % bptt == 0:
                state = state.detach()
            state = state * (1 - starts[env, step])
            features = observations[env, step].reshape(1, 1, -1)
            y, state, _ = policy.actor_core(features, state)
            by_hand.append(policy.value_net(policy.mlp_extractor.forward_critic(y[0])).flatten())
    by_hand = torch.cat(by_hand)
    (by_hand * weights).sum().backward()
    wanted = {name: p.grad.clone() for name, p in policy.named_parameters() if p.grad is not None}
    assert any("lstm_actor" in name for name in wanted)

    policy.zero_grad()
    total, found = 0.0, 0
    for batch in buffer.get(8):
        values = policy.evaluate_actions(
            batch.observations, batch.actions.flatten(), batch.lstm_states, batch.episode_starts
        )[0]
        # A step is known by the log probability of its action.
        sorted_logs = torch.from_numpy(buffer.log_probs.ravel())[order]
        place = torch.searchsorted(sorted_logs, batch.old_log_prob.contiguous())
        keep = batch.mask > 0
        steps = order[place[keep]]
        torch.testing.assert_close(values.flatten()[keep], by_hand[steps], rtol=1e-4, atol=1e-5)
        total = total + (values.flatten()[keep] * weights[steps]).sum()
        found += len(steps)
    assert found == 3 * n_steps
    total.backward()
    for name, gradient in wanted.items():
        torch.testing.assert_close(
            dict(policy.named_parameters())[name].grad, gradient, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("bptt", [0, -1, 1.5, True, "32"])
def test_wrong_bptt_is_named(bptt):
    with pytest.raises(ValueError, match="bptt: expected an integer >= 1"):
        RecurrentPPO("MlpCorePolicy", RandomEnv(), bptt=bptt)
