"""Loss, clipping and Adam, in torch; that the kernel does the same is tested beside it."""

import pytest
import torch

from iap_gym.baselines.world_model import Gradients, TrainingStep
from iap_gym.baselines.world_model.learning import NonFiniteLossError
from tests.baselines.world_model.cases import batch, make
from tests.baselines.world_model.naive import run_naively


def test_loss_is_the_error_of_observations_and_the_penalty_of_gates():
    model = make(dtype=torch.float64).train()
    observations, actions, real = batch(dtype=torch.float64)
    noise = model.draw_noise(*actions.shape[:2])
    losses = Gradients(model, 0.1)(observations, actions, real, noise)
    found = [parameter.grad.clone() for parameter in model.parameters()]
    predictions, gates = run_naively(model, observations, actions, real, noise)
    error = (predictions - observations[1:]).square().mean()
    assert losses.error == pytest.approx(error.item(), rel=1e-13)
    assert losses.gates == pytest.approx((gates > 0).double().mean().item(), rel=1e-13)
    loss = error + 0.1 * gates.mean()
    assert losses.loss == pytest.approx(loss.item(), rel=1e-13)
    expected = torch.autograd.grad(loss, list(model.parameters()))
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-14)


def test_gradients_pass_through_predictions():
    """A difference of the loss along the gradient, with inputs that are all predictions."""
    model = make("lstm", torch.float64)
    observations, actions, real = batch(dtype=torch.float64)
    real[2:] = False
    gradients = Gradients(model)
    gradients(observations, actions, real)
    slope, step = gradients.flat.square().sum().item(), 1e-5
    direction = [view.clone() for view in gradients.views]
    losses = []
    for sign in (1, -2):
        with torch.no_grad():
            for parameter, d in zip(model.parameters(), direction, strict=True):
                parameter += sign * step * d
        losses.append(gradients(observations, actions, real).loss)
    assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(slope, rel=1e-6)


def test_a_step_clips_and_is_adam():
    arguments = batch(dtype=torch.float64)
    model, other = make("gru", torch.float64), make("gru", torch.float64)
    step = TrainingStep(model, 0.01, max_grad_norm=0.01)
    optimizer = torch.optim.Adam(other.parameters(), 0.01, (0.9, 0.999), 1e-4)
    norms = []
    for _ in range(4):
        step(*arguments)
        optimizer.zero_grad()
        predictions, _ = run_naively(other, *arguments)
        (predictions - arguments[0][1:]).square().mean().backward()
        norms.append(torch.nn.utils.clip_grad_norm_(other.parameters(), 0.01))
        optimizer.step()
    assert min(norms) > 0.01
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=0, atol=1e-12)


def test_small_gradients_are_not_clipped():
    arguments = batch(dtype=torch.float64)
    ways = [TrainingStep(make("elman", torch.float64), 0.01, max_grad_norm=n) for n in (1e6, None)]
    for way in ways:
        way(*arguments)
    assert torch.equal(ways[0].gradients.flat, ways[1].gradients.flat)
    assert ways[0].gradients.flat.norm() > 0.01


def test_a_loss_that_is_not_finite_leaves_the_model_as_it_was():
    model, (observations, actions, real) = make(), batch()
    step = TrainingStep(model, 0.01)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with pytest.raises(NonFiniteLossError, match="loss: expected a finite number, got nan"):
        step(observations * torch.nan, actions, real)
    step(observations, actions, real)
    after = list(model.parameters())
    assert all(torch.isfinite(parameter).all() for parameter in after)
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_bad_arguments():
    model, (observations, actions, real) = make(), batch()
    with pytest.raises(ValueError, match=r"observations: expected one step more than the 7"):
        Gradients(model)(observations[:-1], actions, real)
    for changes, message in (
        ({"penalty": -1.0}, r"penalty: expected a finite number >= 0"),
        ({"penalty_kind": "l3"}, r"penalty_kind: expected one of 'l0'"),
        ({"max_grad_norm": 0.0}, r"max_grad_norm"),
        ({"learning_rate": -0.1}, r"learning_rate"),
    ):
        with pytest.raises(ValueError, match=message):
            TrainingStep(model, **changes)
    with pytest.raises(ValueError, match=r"model: expected a WorldModel"):
        Gradients(torch.nn.Linear(2, 2))
