"""Controllers against the printed equations and torch; action heads against the spaces."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from iap_gym.baselines.evolution.action_heads import make_head
from iap_gym.baselines.evolution.controllers import FeedForward, Lstm, sigmoid


def random_vector(controller, seed=0):
    return np.random.default_rng(seed).normal(size=controller.num_parameters).astype(np.float32)


def features(batch, inputs, seed=1):
    return np.random.default_rng(seed).normal(size=(batch, inputs)).astype(np.float32)


def test_linear_is_the_first_matrix_and_bias_of_the_vector():
    controller = FeedForward(3, 2)
    vector = np.arange(8, dtype=np.float32)
    controller.set_vector(vector)
    logits, state = controller.step(np.array([[1.0, 10.0, 100.0]], np.float32), ())
    assert logits.tolist() == [[0 + 10 + 200 + 6, 3 + 40 + 500 + 7]]
    assert state == ()
    assert controller.parameter_scale().tolist() == pytest.approx([3**-0.5] * 8)


def test_mlp_equals_torch():
    controller = FeedForward(5, 3, [7, 4])
    vector = random_vector(controller)
    controller.set_vector(vector)
    modules = torch.nn.Sequential(
        torch.nn.Linear(5, 7),
        torch.nn.Tanh(),
        torch.nn.Linear(7, 4),
        torch.nn.Tanh(),
        torch.nn.Linear(4, 3),
    )
    torch.nn.utils.vector_to_parameters(torch.from_numpy(vector), modules.parameters())
    x = features(6, 5)
    expected = modules(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(controller.step(x, ())[0], expected, rtol=1e-5, atol=1e-6)
    scale = controller.parameter_scale()
    assert scale[:42] == pytest.approx(5**-0.5)
    assert scale[42:74] == pytest.approx(7**-0.5)
    assert scale[74:] == pytest.approx(4**-0.5)


def test_lstm_equals_torch_over_a_sequence():
    inputs, hidden, outputs = 4, 6, 2
    controller = Lstm(inputs, outputs, hidden)
    controller.set_vector(random_vector(controller))
    (weight, bias), (out_weight, out_bias) = controller.layers
    cell = torch.nn.LSTMCell(inputs, hidden)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.from_numpy(weight[:, :inputs]))
        cell.weight_hh.copy_(torch.from_numpy(weight[:, inputs:]))
        cell.bias_ih.copy_(torch.from_numpy(bias))
        cell.bias_hh.zero_()
    state, reference = controller.initial_state(3), None
    for t in range(5):
        x = features(3, inputs, seed=t)
        logits, state = controller.step(x, state)
        reference = cell(torch.from_numpy(x), reference)
        h, c = (part.detach().numpy() for part in reference)
        np.testing.assert_allclose(state[0], h, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state[1], c, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(logits, h @ out_weight.T + out_bias, rtol=1e-5, atol=1e-5)


def test_lstm_with_two_biases_has_the_parameters_of_torch():
    inputs, hidden, outputs = 4, 6, 2
    controller = Lstm(inputs, outputs, hidden, two_biases=True)
    controller.set_vector(random_vector(controller))
    cell = torch.nn.LSTMCell(inputs, hidden)
    (w_x, b_x), (w_h, b_h), (out_weight, out_bias) = controller.layers
    arrays = {"weight_ih": w_x, "bias_ih": b_x, "weight_hh": w_h, "bias_hh": b_h}
    cell.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    state, reference = controller.initial_state(3), None
    for t in range(5):
        x = features(3, inputs, seed=t)
        logits, state = controller.step(x, state)
        reference = cell(torch.from_numpy(x), reference)
        h = reference[0].detach().numpy()
        np.testing.assert_allclose(logits, h @ out_weight.T + out_bias, rtol=1e-5, atol=1e-5)
        assert logits.dtype == np.float32


def test_lstm_size_is_that_of_tang_et_al():
    # Their LSTM(20 -> 16) and Linear(16 -> 3) have 2432 and 51 numbers.
    assert Lstm(20, 3, 16, two_biases=True).num_parameters == 2432 + 51
    assert Lstm(20, 3, 16).num_parameters == 2432 - 64 + 51


def test_sigmoid_does_not_overflow():
    values = sigmoid(np.array([-1e30, -2.0, 0.0, 2.0, 1e30], np.float32))
    expected = [0, 1 / (1 + np.exp(2)), 0.5, 1 / (1 + np.exp(-2)), 1]
    np.testing.assert_allclose(values, expected, atol=1e-7)


@pytest.mark.parametrize(
    "controller", [FeedForward(40, 6), FeedForward(40, 6, [16]), Lstm(40, 6, 16)]
)
def test_rows_of_a_batch_are_exactly_what_they_are_alone(controller):
    controller.set_vector(random_vector(controller))
    x = features(9, 40)
    state = tuple(features(9, 16, seed=5 + i) for i, _ in enumerate(controller.initial_state(1)))
    together, after = controller.step(x, state)
    for i in range(9):
        alone, alone_after = controller.step(x[i : i + 1], tuple(s[i : i + 1] for s in state))
        np.testing.assert_array_equal(alone[0], together[i])
        for one, all_rows in zip(alone_after, after, strict=True):
            np.testing.assert_array_equal(one[0], all_rows[i])


def test_vector_is_copied():
    controller = FeedForward(2, 1)
    vector = np.ones(3, np.float32)
    controller.set_vector(vector)
    vector[:] = 7
    assert controller.step(np.ones((1, 2), np.float32), ())[0].item() == 3


SPACES = [
    spaces.Box(-1, 1, (3,), np.float32),
    spaces.Box(np.array([0, -5], np.float32), np.array([1, 5], np.float32)),
    spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
    spaces.Box(np.array([0, -np.inf]), np.array([np.inf, 3]), dtype=np.float64),
    spaces.Box(-3, 4, (2,), np.int64),
    spaces.Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,), np.float32),
    spaces.Discrete(4, start=-1),
    spaces.MultiDiscrete([2, 5, 3]),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 2]])),
    spaces.MultiBinary(4),
    spaces.MultiBinary((2, 3)),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_actions_lie_in_the_space(space):
    head = make_head(space)
    rng = np.random.default_rng(0)
    for scale in (0, 1, 1e20):
        logits = (scale * rng.normal(size=(8, head.size))).astype(np.float32)
        for action in head(logits):
            assert space.contains(action), action


def test_bounded_boxes_use_tanh_and_unbounded_ones_are_linear():
    low, high = np.array([2.0, -np.inf, 0.0]), np.array([4.0, np.inf, np.inf])
    head = make_head(spaces.Box(low, high, dtype=np.float64))
    logits = np.array([[0.5, 7.0, -3.0], [-0.5, -7.0, 3.0]], np.float32)
    expected = [[3 + np.tanh(0.5), 7, 0], [3 - np.tanh(0.5), -7, 3]]
    np.testing.assert_allclose(head(logits), expected, rtol=1e-6)


def test_clipped_boxes_are_linear_up_to_their_bounds():
    low, high = np.array([2.0, -np.inf, -1.0]), np.array([4.0, np.inf, 1.0])
    head = make_head(spaces.Box(low, high, dtype=np.float64), squash="clip")
    logits = np.array([[0.5, 7.0, -3.0], [-1.5, -7.0, 0.25]], np.float32)
    np.testing.assert_allclose(head(logits), [[3.5, 7, -1], [2, -7, 0.25]])
    with pytest.raises(ValueError, match="^squash: expected one of 'tanh', 'clip', got 'relu'"):
        make_head(spaces.Discrete(3), squash="relu")


def test_discrete_heads_take_the_largest_logits():
    logits = np.array([[0.0, 2.0, 1.0, 3.0, -1.0]], np.float32)
    assert make_head(spaces.Discrete(5, start=10))(logits).tolist() == [13]
    assert make_head(spaces.MultiDiscrete([2, 3]))(logits).tolist() == [[1, 1]]
    assert make_head(spaces.MultiDiscrete([2, 3], start=[5, 0]))(logits).tolist() == [[6, 1]]
    assert make_head(spaces.MultiBinary(5))(logits).tolist() == [[0, 1, 1, 1, 0]]


@pytest.mark.parametrize(
    "space", [spaces.Text(3), spaces.Dict({"a": spaces.Discrete(2)}), spaces.Box(0, 1, (0,))]
)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(ValueError, match="^action_space: expected"):
        make_head(space)
