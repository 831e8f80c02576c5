import math

import numpy as np
import pytest
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from iap_gym.envs.quadruped.scenes.geodesic import STRETCH, MoveGraph, extended, largest_component
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap

KING = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]
KNIGHT = [(r, c) for r in (-2, -1, 1, 2) for c in (-2, -1, 1, 2) if abs(r) != abs(c)]


def passed(row, column):
    """Return the cells, in whole numbers, that the segment from (0, 0) touches on its way."""
    points = np.linspace(0.01, 1, 400)[:, None] * (row, column)
    shifts = [(r, c) for r in (-0.01, 0.01) for c in (-0.01, 0.01)]
    cells = np.rint(np.concatenate([points + shift for shift in shifts])).astype(int)
    return {tuple(cell) for cell in cells.tolist()} - {(0, 0)}


def naive_distances(free, source):
    index = np.arange(free.size).reshape(free.shape)
    starts, ends, lengths = [], [], []
    ways = {move: passed(*move) for move in KING + KNIGHT}
    for row, column in np.argwhere(free):
        for move, way in ways.items():
            cells = [(row + r, column + c) for r, c in way]
            if all(
                0 <= r < free.shape[0] and 0 <= c < free.shape[1] and free[r, c] for r, c in cells
            ):
                starts.append(index[row, column])
                ends.append(index[row + move[0], column + move[1]])
                lengths.append(math.hypot(*move))
    graph = coo_matrix((lengths, (starts, ends)), (free.size, free.size)).tocsr()
    return dijkstra(graph, indices=index[source]).reshape(free.shape)


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_scipys_dijkstra(seed):
    rng = np.random.default_rng(seed)
    free = rng.random((14, 19)) > 0.25
    source = tuple(np.argwhere(free)[rng.integers(free.sum())])
    np.testing.assert_allclose(MoveGraph(free).distances(source), naive_distances(free, source))


def test_paths_on_an_empty_grid_are_at_most_stretch_longer_than_straight_lines():
    source = (60, 60)
    distances = MoveGraph(np.ones((121, 121), bool)).distances(source)
    straight = np.hypot(*(np.indices((121, 121)) - 60))
    straight[source] = distances[source] = 1.0
    ratio = distances / straight
    assert pytest.approx(1 / math.cos(math.atan(1 / 2) / 2)) == STRETCH
    assert ratio.min() == pytest.approx(1.0)
    assert STRETCH - 1e-3 < ratio.max() < STRETCH + 1e-9


def test_limit_leaves_near_distances_as_they_are():
    graph = MoveGraph(np.ones((30, 30), bool))
    full, near = graph.distances((3, 3)), graph.distances((3, 3), limit=8.0)
    assert np.array_equal(full[full <= 8], near[full <= 8])
    assert np.isinf(near[20:, 20:]).all()


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_largest_component_is_scipys(share):
    free = np.random.default_rng(1).random((40, 57)) < share
    labels, count = ndimage.label(free)
    sizes = ndimage.sum(free, labels, range(1, count + 1))
    assert np.array_equal(largest_component(free), labels == 1 + np.argmax(sizes))


def test_largest_component_of_nothing_is_nothing():
    assert not largest_component(np.zeros((3, 4), bool)).any()


def test_distances_spread_beside_free_cells_and_never_through_what_is_blocked():
    free, open_ = np.zeros((1, 9), bool), np.ones((1, 9), bool)
    free[0, [0, 8]] = True
    open_[0, 4] = False
    distances = np.where(free, [[0.0] * 4 + [9] + [50.0] * 4], np.inf)
    spread = extended(distances, free, open_, 5)
    assert spread.tolist() == [[0, 1, 2, 3, math.inf, 53, 52, 51, 50]]


BOUNDS = Rectangle(-3.0, -2.0, 3.0, 2.0)
# A wall with one door, of 1 m, at y = 1.
WALL = [Rectangle(-0.05, -2.0, 0.05, 0.5), Rectangle(-0.05, 1.5, 0.05, 2.0)]
FRAME = [
    Rectangle(-3.1, -2.1, 3.1, -2.0),
    Rectangle(-3.1, 2.0, 3.1, 2.1),
    Rectangle(-3.1, -2.1, -3.0, 2.1),
    Rectangle(3.0, -2.1, 3.1, 2.1),
]


def two_rooms(**settings):
    return TraversableMap.from_rectangles([*FRAME, *WALL], BOUNDS, **settings)


def test_free_is_what_is_further_than_the_radius_from_everything():
    here = two_rooms(radius=0.3)
    rng = np.random.default_rng(0)
    for x, y in zip(rng.uniform(-3.2, 3.2, 300), rng.uniform(-2.2, 2.2, 300), strict=True):
        middle = here.point(here.cell((x, y)))
        point = Rectangle(*middle, *middle)
        away = min(point.distance(each) for each in [*FRAME, *WALL])
        assert here.is_free((x, y)) == (away > 0.3 and BOUNDS.contains(x, y))


def test_shortest_way_leads_through_the_door():
    here = two_rooms()
    start, goal = (-2.0, -1.0), (2.0, -1.0)
    field = here.distances_to(goal)
    way = here.path(start, goal)
    taut = 2 * math.dist((-2.0, -1.0), (-0.05, 0.5)) + 0.1
    wide = 2 * math.dist((-2.0, -1.0), (-0.35, 0.8)) + 0.7
    assert taut < field(start) < STRETCH * wide + 0.1
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    assert steps.sum() == pytest.approx(here.distances_to(goal).values[here.cell(start)])
    assert all(here.is_free(point) for point in way)
    assert math.dist(way[0], start) < 0.05
    assert math.dist(way[-1], goal) < 0.05
    crossing = way[np.argmin(np.abs(way[:, 0]))]
    assert 0.8 <= crossing[1] <= 1.2
    assert (np.diff([field(point) for point in way]) < 0).all()


def test_the_way_goes_on_where_the_robot_is_nearer_to_a_wall_than_its_radius():
    here = two_rooms()
    field = here.distances_to((2.0, -1.0))
    left, right = field((-0.2, -1.0)), field((0.2, -1.0))
    assert right == pytest.approx(1.8, abs=0.06)
    assert left > 4.5  # around, not through the wall
    way = field.path((-0.2, -1.0))
    assert not here.is_free(way[0])
    assert here.is_free(way[3])
    assert math.dist(way[-1], (2.0, -1.0)) < 0.05
    assert math.isinf(field((40.0, 0.0)))
    assert field.path((40.0, 0.0)).shape == (0, 2)


def test_ways_can_be_cut():
    field = two_rooms().distances_to((2.0, -1.0))
    way = field.path((-2.0, -1.0), 0.5)
    assert np.array_equal(way, field.path((-2.0, -1.0))[: len(way)])
    assert 0.4 < np.linalg.norm(np.diff(way, axis=0), axis=1).sum() < 0.7


def test_values_between_cells_are_interpolated():
    field = TraversableMap.from_rectangles([], BOUNDS, 0.1).distances_to((2.05, 0.05))
    for x in (-1.0, -0.33, 0.5, 1.27):
        assert field((x, 0.05)) == pytest.approx(2.05 - x)


def test_samples_are_uniform_over_the_free_area():
    here = two_rooms()
    rng = np.random.default_rng(0)
    points = np.array([here.sample(rng) for _ in range(4000)])
    assert all(here.is_free(point) for point in points)
    cells = np.argwhere(here.free)
    middles = np.array([here.point(cell) for cell in cells])
    error = middles.std(axis=0) / math.sqrt(len(points))
    assert (np.abs(points.mean(axis=0) - middles.mean(axis=0)) < 4 * error).all()
    again = np.random.default_rng(0)
    assert np.array_equal(here.sample(again), points[0])
    left = here.inside(Rectangle(-3.0, -2.0, 0.0, 2.0))
    assert all(here.sample(rng, left)[0] < 0 for _ in range(50))


def test_open_cells_are_eroded_by_the_radius():
    open_ = np.ones((21, 21), bool)
    open_[10, 10] = False
    here = TraversableMap.from_open(open_, 0.1, (0.0, 0.0), radius=0.3)
    rows, columns = np.indices((21, 21))
    inner = (np.minimum(rows, columns) >= 3) & (np.maximum(rows, columns) <= 17)
    assert np.array_equal(here.free, inner & (np.hypot(rows - 10, columns - 10) > 3))


@pytest.mark.parametrize("goal", [(0.0, 0.0), (50.0, 0.0)])
def test_a_goal_has_to_be_free(goal):
    with pytest.raises(ValueError, match="goal: expected a free point of the map, got"):
        two_rooms().distances_to(goal)


def test_a_map_without_a_place_for_the_robot_is_refused():
    with pytest.raises(ValueError, match="^scene: no place .* 0.3 m .* scale, up and floor"):
        TraversableMap.from_open(np.ones((4, 4), bool), 0.1, (0.0, 0.0))
    with pytest.raises(ValueError, match="where: expected at least one free cell"):
        two_rooms().sample(np.random.default_rng(0), np.zeros((80, 120), bool))
