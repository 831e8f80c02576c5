import dataclasses
import itertools
import json

import numpy as np
import pytest

from iap_gym.envs.quadruped.scenes.apartment import ROBOT_HEIGHT, Apartment
from iap_gym.envs.quadruped.scenes.floor_plan import sample_floor_plan
from iap_gym.envs.quadruped.scenes.furniture import CLEARANCE
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.textures import NUM_VARIANTS, PALETTES, SIDE, texture
from iap_gym.raycast import RayCaster, rotation_from_yaw_pitch

SEEDS = range(12)


def apartment(seed, **settings):
    return Apartment(**settings).sample(np.random.default_rng(seed))


def floor_of(box):
    (x, y, _), (half_x, half_y, _) = box.center, box.half_extents
    return Rectangle(x - half_x, y - half_y, x + half_x, y + half_y)


@pytest.mark.parametrize("seed", SEEDS)
def test_rooms_tile_the_floor(seed):
    layout = apartment(seed)
    assert 2 <= len(layout.rooms) <= 6
    assert sum(room.size[0] * room.size[1] for room in layout.rooms) == pytest.approx(63.0)
    for one, other in itertools.combinations(layout.rooms, 2):
        assert one.grown(-1e-6).distance(other.grown(-1e-6)) > 0
    assert min(min(room.size) for room in layout.rooms) >= 2.2
    assert len(layout.doors) == len(layout.rooms) - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_robot_can_walk_to_every_room_and_through_every_door(seed):
    layout = apartment(seed, furniture=0.6)
    here = layout.traversable()
    for room in layout.rooms:
        inside = here.inside(room.grown(-0.36))
        assert (here.free & inside).sum() > 0.2 * inside.sum()
    for door in layout.doors:
        assert here.is_free(door.center)
        assert max(door.size) == pytest.approx(0.9)


@pytest.mark.parametrize("seed", SEEDS)
def test_furniture_stands_in_its_room_and_keeps_clear(seed):
    layout = apartment(seed, furniture=0.6)
    assert layout.furniture
    for piece in layout.furniture:
        inside = [room for room in layout.rooms if room.contains(*piece.footprint.center)]
        assert len(inside) == 1
        room = inside[0].grown(-0.05)
        gaps = [
            piece.footprint.left - room.left,
            piece.footprint.bottom - room.bottom,
            room.right - piece.footprint.right,
            room.top - piece.footprint.top,
        ]
        assert min(gaps) > -1e-9
        assert all(abs(gap) < 1e-9 or gap >= CLEARANCE - 1e-9 for gap in gaps)
        assert all(piece.footprint.distance(door) >= CLEARANCE for door in layout.doors)
        for box in piece.boxes:
            floor, grown = floor_of(box), piece.footprint.grown(1e-9)
            assert grown.contains(floor.left, floor.bottom)
            assert grown.contains(floor.right, floor.top)
    for one, other in itertools.combinations(layout.furniture, 2):
        same_room = [room.contains(*one.footprint.center) for room in layout.rooms] == [
            room.contains(*other.footprint.center) for room in layout.rooms
        ]
        assert not same_room or one.footprint.distance(other.footprint) >= CLEARANCE


def test_doors_are_holes_below_their_lintels():
    layout = apartment(3)
    for door in layout.doors:
        above = [box for box in layout.boxes if floor_of(box).contains(*door.center)]
        assert [box.center[2] - box.half_extents[2] for box in above] == [pytest.approx(2.0)]
        assert above[0].center[2] + above[0].half_extents[2] == pytest.approx(2.5)


@pytest.mark.parametrize("seed", range(5))
def test_map_and_camera_agree_with_the_boxes(seed):
    """Wherever the robot may stand, its camera sees nothing nearer than its radius."""
    layout = apartment(seed)
    here = layout.traversable()
    rng = np.random.default_rng(seed)
    caster = RayCaster(layout.scene(), 64, 1, fov=1.0)
    for _ in range(20):
        point = here.sample(rng)
        eye = np.array([*here.point(here.cell(point)), 0.4 * ROBOT_HEIGHT])
        for yaw in np.arange(4) * np.pi / 2:
            frame = caster.render(eye, rotation_from_yaw_pitch(yaw, 0.0))
            columns = np.tan(np.radians(0.5)) * 64 * ((np.arange(64) + 0.5) / 32 - 1)
            distance = frame.depth[0] * np.hypot(1.0, columns)
            assert distance.min() > 0.3 - 1e-4


def test_a_seed_is_one_apartment():
    first, again, other = apartment(7), apartment(7), apartment(8)
    assert first == again
    assert first.boxes == again.boxes
    assert first.boxes != other.boxes


def test_scene_has_a_texture_for_every_surface_or_plain_colours():
    textured = apartment(1).scene()
    assert {box.texture for box in textured.boxes if isinstance(box.texture, str)} < set(
        textured.textures
    )
    assert len(textured.boxes) == len(apartment(1).boxes) + 1
    assert len(apartment(1).scene(ceiling=False).boxes) == len(apartment(1).boxes)
    plain = apartment(1, textures=False).scene()
    assert not plain.textures
    assert all(isinstance(box.texture, tuple) for box in plain.boxes)
    assert [box.center for box in plain.boxes] == [box.center for box in textured.boxes]


@pytest.mark.parametrize("kind", sorted(PALETTES))
def test_textures_repeat_and_have_the_colour_of_their_palette(kind):
    for variant in range(NUM_VARIANTS):
        pixels = texture(kind, variant)
        assert pixels.dtype == np.uint8
        assert pixels.shape == (SIDE, SIDE, 3)
        assert not pixels.flags.writeable
        assert texture(kind, variant) is pixels
        assert pixels.reshape(-1, 3).std(axis=0).max() > 2.0
        if kind != "books":
            color = np.array(PALETTES[kind][variant])
            ratio = pixels.reshape(-1, 3).mean(axis=0) / color
            assert ((ratio > 0.6) & (ratio < 1.15)).all()
    assert len({texture(kind, variant).tobytes() for variant in range(NUM_VARIANTS)}) == 6


def test_settings_are_json():
    settings = Apartment(size=[8.0, 6.0], rooms=3, furniture=0.1)
    assert Apartment.from_spec(json.loads(json.dumps(settings.to_dict()))) == settings
    assert Apartment.from_spec(None) == Apartment()
    assert Apartment.from_spec(settings) is settings
    assert len(settings.sample(np.random.default_rng(0)).rooms) == 3


def test_one_room_without_furniture_is_a_rectangle():
    layout = apartment(0, rooms=1, furniture=0.0)
    here = layout.traversable()
    assert not layout.doors
    assert here.free.sum() * here.resolution**2 == pytest.approx(8.3 * 6.3, rel=0.02)
    assert np.array_equal(here.free, here.free[::-1, ::-1])


@pytest.mark.parametrize(
    ("seed", "size", "walls", "number", "floor", "last"),
    [  # inner walls: along which axis, where, and where the door's middle is
        (
            0,
            (9.0, 7.0),
            [
                (1, -1.058981, 2.475218),
                (0, -1.193469, 3.717559),
                (1, 1.160174, 1.926931),
                (0, 0.814503, -3.778093),
                (0, 1.274396, 2.168481),
            ],
            10,
            "planks/5",
            (3.781138, 2.416655, 4.45, 3.45),
        ),
        (
            1,
            (9.0, 7.0),
            [(1, 2.072133, 1.047788), (0, -0.925185, 0.824514), (1, -0.239407, -0.189058)],
            6,
            "planks/3",
            (3.6, -1.878469, 4.45, -0.301465),
        ),
        (
            3,
            (6.7, 4.5),
            [
                (1, -1.080204, 0.86324),
                (0, 0.020697, 2.06115),
                (0, -0.012576, -1.999648),
                (1, 1.12254, -0.794432),
                (1, 1.139746, 1.305224),
            ],
            1,
            "tiles/4",
            (2.252406, 1.88, 3.3, 2.2),
        ),
    ],
)
def test_published_numbers_are_of_these_apartments(seed, size, walls, number, floor, last):
    layout = apartment(seed, size=size)
    inner = [
        (wall.along, wall.at, wall.door) for wall in layout.plan.walls if wall.door is not None
    ]
    np.testing.assert_allclose(inner, walls, atol=1e-6)
    assert (len(layout.furniture), layout.floor) == (number, floor)
    np.testing.assert_allclose(layout.furniture[-1].footprint, last, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "rooms"),
    [
        ((6.7, 4.5), (2, 6)),
        ((4.5, 6.7), (2, 6)),
        ((8, 6), (2, 6)),
        # Squares of 2.2 m, side by side, and not a millimetre more:
        ((4.4, 4.4), 4),
        ((4.4, 6.6), 6),
        ((6.6, 2.2), 3),
        ((11.0, 11.0), 25),
        # So many that walls drawn freely leave no room for them:
        ((9.0, 7.0), 12),
        ((9.0, 7.0), 11),
        ((2.0, 9.0), 4),
    ],
)
def test_what_is_accepted_can_be_drawn(size, rooms):
    settings = Apartment(size=size, rooms=rooms, furniture=0.0)
    few, many = settings.rooms
    plans = set()
    for seed in range(20):
        layout = settings.sample(np.random.default_rng(seed))
        assert few <= len(layout.rooms) <= many
        assert len(layout.doors) == len(layout.rooms) - 1
        sides = [side for room in layout.rooms for side in room.size]
        assert min(sides) > min(2.2, *size) - 1e-5
        areas = [room.size[0] * room.size[1] for room in layout.rooms]
        assert sum(areas) == pytest.approx(size[0] * size[1])
        for one, other in itertools.combinations(layout.rooms, 2):
            assert one.grown(-1e-5).distance(other.grown(-1e-5)) > 0
        plans.add(layout.plan)
    assert len(plans) == 20


def test_every_room_of_what_just_fits_is_reached():
    layout = apartment(0, size=(6.6, 4.4), rooms=6)
    here = layout.traversable()
    field = here.distances_to(layout.doors[0].center, 50.0)
    for room in layout.rooms:
        assert np.isfinite(field.values[here.free & here.inside(room.grown(-0.4))]).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 9.0}, "size: expected two lengths"),
        ({"size": (9.0, 7.0, 2.0)}, "size: expected two lengths"),
        ({"size": (9.0, float("nan"))}, r"size\[1\]: expected a finite number"),
        ({"rooms": (4, 2)}, r"rooms: expected \(fewest, most\)"),
        ({"rooms": 0}, r"rooms: expected an integer >= 1"),
        ({"rooms": 30}, "rooms: expected at most 12, which fit"),
        ({"furniture": -1.0}, "furniture: expected"),
        ({"door_width": 0.5}, "door_width: expected"),
        ({"min_side": 1.0}, "min_side: expected"),
        ({"door_height": 5}, "door_height: expected a number <= 2.45, wall_height - 0.05, got 5"),
        ({"wall_height": 2.0}, "wall_height: expected a number >= 2.05, door_height"),
        ({"wall_height": 0.5}, "wall_height: expected"),
        ({"door_width": 3.0}, "door_width: expected a number <= 1.6, min_side - 0.6, got 3.0"),
        ({"min_side": 1.45}, r"min_side: expected a number >= 1.5, door_width \+ 0.6, got 1.45"),
        ({"size": (4.0, 4.0)}, r"size: expected room for 6 squares of min_side.* got \(4.0, 4.0\)"),
        ({"size": (6.0, 6.0)}, r"size: expected room for 6 squares of min_side"),
        ({"rooms": 5, "size": (6.0, 5.0)}, r"rooms: expected at most 4, which fit, got"),
        ({"rooms": 4, "size": (4.399, 4.4)}, r"rooms: expected at most 2, which fit, got"),
        ({"rooms": 2, "size": (2, 9), "door_width": 1.6}, "rooms: expected at most 1, which fit"),
        ({"min_side": 4.0}, "min_side: expected a smaller number, so that 6 squares of it fit"),
        ({"textures": 1}, "textures: expected True or False"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Apartment(**settings)


def test_bad_specs():
    with pytest.raises(ValueError, match="apartment: expected one of 'size', .* got 'sise'"):
        Apartment.from_spec({"sise": (9.0, 7.0)})
    with pytest.raises(ValueError, match="apartment: expected a dict of settings, .*, got 3"):
        Apartment.from_spec(3)
    with pytest.raises(ValueError, match="rng: expected a numpy.random.Generator, got 3"):
        Apartment().sample(3)


def test_rooms_that_do_not_fit_are_refused_when_they_are_drawn():
    tight = dataclasses.replace(Apartment(), size=(5.0, 4.5), rooms=4)
    with pytest.raises(ValueError, match="rooms: 4 rooms with sides of at least 2.2 m do not fit"):
        sample_floor_plan(np.random.default_rng(0), tight.size, 4, min_side=2.2, door_width=2.0)
