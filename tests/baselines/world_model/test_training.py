"""Training: what it learns, and that it goes on as if it had never stopped."""

import dataclasses

import pytest
import torch

from iap_gym.baselines.world_model.training import Training

SECONDS = "seconds"


def rows(table):
    return [{name: value for name, value in row.items() if name != SECONDS} for row in table]


def test_errors_fall_below_those_of_copying(small, sets):
    config = dataclasses.replace(small, epochs=60, batch_size=16)
    training = Training(config, *sets)
    first = training.evaluate()
    for _ in range(60):
        row = training.run_epoch()
    last = training.evaluate()
    assert row["loss"] < 0.3 * training.history[0]["loss"]
    assert last["val_error"] < 0.2 * first["val_error"]
    assert last["val_error"] < last["val_copy_error"]
    assert training.history[10]["probability"] == pytest.approx(0.998**10)
    assert last["val_gate_rate"] < first["val_gate_rate"]


@pytest.mark.parametrize("core", ["gatel0rd", "clockwork"])  # by the kernel, and by torch
def test_a_restored_training_goes_on_to_the_bit(small, sets, core, tmp_path):
    penalty = small.penalty if core == "gatel0rd" else 0.0
    config = dataclasses.replace(small, core=core, penalty=penalty).fill_in()
    whole, half = Training(config, *sets), Training(config, *sets)
    for _ in range(2):
        whole.run_epoch()
        half.run_epoch()
    for training in (whole, half):
        training.evaluate()
    half.save(tmp_path / "state.safetensors")
    other = Training(config, *sets)
    other.run_epoch()  # is forgotten
    other.restore(tmp_path / "state.safetensors")
    assert other.epoch == 2
    assert rows(other.evaluations) == rows(whole.evaluations)
    for training in (whole, other):
        training.run_epoch()
        training.evaluate()
    assert rows(other.history) == rows(whole.history)
    assert rows(other.evaluations) == rows(whole.evaluations)
    for mine, expected in zip(other.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, expected)


def test_seeds_decide(small, sets):
    def weights(seed):
        training = Training(dataclasses.replace(small, seed=seed), *sets)
        training.run_epoch()
        return training.model.f_post.weight

    before = torch.get_rng_state()
    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))
    assert torch.equal(torch.get_rng_state(), before)  # torch's own generator is left alone


def test_a_loss_that_is_not_finite_ends_it(small, sets):
    config = dataclasses.replace(small, learning_rate=1e38, max_grad_norm=1e30)
    training = Training(config, *sets)
    with pytest.raises(RuntimeError, match=r"loss: expected a finite number, got .* in epoch 0"):
        training.run_epoch()


def test_what_does_not_fit(small, sets, tmp_path):
    with pytest.raises(ValueError, match=r"start_steps: expected at least the 3 inputs"):
        Training(dataclasses.replace(small, model={"context_inputs": 3}), *sets)
    with pytest.raises(ValueError, match=r"sequences: expected at least the 128 .*got 64"):
        Training(dataclasses.replace(small, batch_size=128), *sets)
    training = Training(small, *sets)
    (tmp_path / "broken").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match=r"expected a file of a world model"):
        training.restore(tmp_path / "broken")
    training.model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"expected a checkpoint of this run"):
        training.restore(tmp_path / "model")
    with pytest.raises(ValueError, match=r"batch_size: expected a multiple of the 2 categories"):
        Training(dataclasses.replace(small, batch_size=33), *sets)
    for changes, named in (
        ({"core": "gru", "penalty": 0.0}, "core, penalty"),
        ({"seed": 9}, "seed"),
        ({"penalty": 0.5, "sampling": "teacher"}, "penalty, sampling"),
        ({"model": {"core_options": {"gate_noise": 0.0}}}, "model"),
    ):
        other = dataclasses.replace(small, **changes)
        Training(other, *sets).save(tmp_path / "other")
        with pytest.raises(ValueError, match=f"this run, got one with another {named}$"):
            training.restore(tmp_path / "other")
    longer = dataclasses.replace(small, epochs=99, evaluate_every=7, data="elsewhere")
    Training(longer, *sets).save(tmp_path / "longer")
    training.restore(tmp_path / "longer")
