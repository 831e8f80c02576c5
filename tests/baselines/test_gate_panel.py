"""Strips of gates and states: every number has its pixels, and the present is at the right."""

import numpy as np
import pytest

from iap_gym.baselines.experiments import gate_panel
from iap_gym.baselines.experiments.gate_panel import (
    LAYER_GAP,
    MARGIN,
    MOST_ROWS,
    STEP_WIDTH,
    STEPS,
    TITLE_HEIGHT,
    UNUSED,
    Strip,
    StripChart,
)

OPEN, CLOSED = gate_panel.GATE_SCALE[1.0], gate_panel.GATE_SCALE[0.0]


def pixel(chart, back, top, row, size):
    """Colour in the middle of a row of a strip whose top is given, so many steps ago."""
    x = chart.width - MARGIN - back * STEP_WIDTH - STEP_WIDTH // 2
    return tuple(chart.draw()[top + row * size + size // 2, x])


def test_gates_are_bright_where_open_and_dark_where_closed():
    colors = Strip("gates", 3, gates=True).colors(np.array([0.0, 0.5, 1.0]))
    assert tuple(colors[0]) == CLOSED
    assert tuple(colors[2]) == OPEN
    assert (colors[0] < colors[1]).all()
    assert (colors[1] < colors[2]).all()


def test_states_diverge_and_what_is_out_of_range_is_the_end():
    values = np.linspace(-1, 1, 41)
    strip = Strip("state", 1)
    colors = strip.colors(values).astype(int)
    red, blue = colors[:, 0], colors[:, 2]
    assert (red[values > 0.01] > blue[values > 0.01]).all()
    assert (blue[values < -0.01] > red[values < -0.01]).all()
    luminance = colors @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance[values >= 0]) > 0).all()
    assert (np.diff(luminance[values <= 0]) < 0).all()
    np.testing.assert_array_equal(strip.colors(np.array([-7.0, 7.0])), colors[[0, -1]])


def test_the_present_is_at_the_right_and_the_past_moves_left():
    chart = StripChart([Strip("gates", 8, gates=True)])
    size = 16
    chart.append([np.eye(8)[2]])
    assert pixel(chart, 0, TITLE_HEIGHT, 2, size) == OPEN
    assert pixel(chart, 0, TITLE_HEIGHT, 3, size) == CLOSED
    assert pixel(chart, 1, TITLE_HEIGHT, 2, size) == UNUSED
    chart.append([np.eye(8)[5]])
    assert pixel(chart, 0, TITLE_HEIGHT, 5, size) == OPEN
    assert pixel(chart, 1, TITLE_HEIGHT, 2, size) == OPEN
    assert pixel(chart, 2, TITLE_HEIGHT, 2, size) == UNUSED
    for _ in range(STEPS - 1):
        chart.append([np.zeros(8)])
    assert pixel(chart, STEPS - 1, TITLE_HEIGHT, 5, size) == OPEN
    chart.append([np.zeros(8)])
    assert (chart.draw()[TITLE_HEIGHT : TITLE_HEIGHT + 8 * size, MARGIN:-MARGIN] == CLOSED).all()


def test_layers_follow_each_other_with_a_gap_and_strips_below_one_another():
    strips = [Strip("gates", 4, num_layers=2, gates=True), Strip("state", 4, num_layers=2)]
    chart = StripChart(strips)
    size = 16
    chart.append([np.array([0, 1, 1, 0]), np.array([1, 0, 0, -1])])
    second = TITLE_HEIGHT + 2 * size + LAYER_GAP
    assert [pixel(chart, 0, TITLE_HEIGHT, row, size) for row in (0, 1)] == [CLOSED, OPEN]
    assert [pixel(chart, 0, second, row, size) for row in (0, 1)] == [OPEN, CLOSED]
    below = second + 2 * size + TITLE_HEIGHT
    ends = [gate_panel.STATE_SCALE[value] for value in (1.0, 0.0)]
    assert [pixel(chart, 0, below, row, size) for row in (0, 1)] == ends
    last = below + 2 * size + LAYER_GAP
    assert pixel(chart, 0, last, 1, size) == gate_panel.STATE_SCALE[-1.0]


@pytest.mark.parametrize("rows", [300, 512, 1000])
def test_pooled_rows_lose_no_open_gate(rows):
    strip = Strip("gates", rows, gates=True)
    for row in (0, 1, rows // 2, rows - 1):
        pooled = strip.layers(np.eye(rows)[row])
        assert pooled.shape[1] <= MOST_ROWS
        assert pooled.sum() == 1
        assert pooled.argmax() == row // -(-rows // MOST_ROWS)
    assert Strip("state", rows).layers(np.where(np.arange(rows) == 7, -0.9, 0.1)).min() == -0.9


@pytest.mark.parametrize(("rows", "layers"), [(1, 1), (8, 1), (64, 1), (128, 2), (600, 3)])
def test_picture_has_the_size_it_says_and_even_layers(rows, layers):
    chart = StripChart([Strip("gates", rows, layers, gates=True)], width=900)
    assert chart.draw().shape == (chart.height, chart.width, 3)
    assert 800 < chart.width <= 900
    assert StripChart([Strip("gates", rows, layers)]).width == STEPS * STEP_WIDTH + 2 * MARGIN
    assert chart.height < 400


def test_rows_are_divided_among_layers():
    with pytest.raises(ValueError, match="rows: expected a multiple of 2, got 5"):
        Strip("gates", 5, num_layers=2)
