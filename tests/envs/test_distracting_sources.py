import numpy as np
import pytest
from PIL import Image

from iap_gym._video import VideoWriter
from iap_gym.envs.distracting_control import clips, davis
from iap_gym.envs.distracting_control.clips import pan_box
from iap_gym.envs.distracting_control.sources import BUNDLED, find_clips


def picture(path, level=0, size=(20, 12)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (level, level, level)).save(path)


def frames(folder, count, first=0):
    for index in range(count):
        picture(folder / f"{index:05d}.png", first + index)


def names(found):
    return [clip.name for clip in found]


def levels(clip):
    return [int(clip.texture(index, 4).mean()) for index in range(len(clip))]


@pytest.mark.parametrize("inside", ["JPEGImages/480p", "JPEGImages/Full-Resolution"])
@pytest.mark.parametrize("up", [0, 1, 2])
def test_davis_from_any_of_its_folders(tmp_path, inside, up):
    folder = tmp_path / "davis" / inside
    for name in ("cat-girl", "boat", "bear", "camel", "judo"):
        frames(folder / name, 2)
    for _ in range(up):
        folder = folder.parent
    # In the order of the published list, not of the folder.
    assert names(find_clips(str(folder), "train", 8)) == ["bear", "boat", "cat-girl"]
    assert names(find_clips(str(folder), "val", None)) == ["camel", "judo"]
    assert names(find_clips(str(folder), "train", 2)) == ["bear", "boat"]


def test_davis_lists_are_the_published_ones():
    assert (len(davis.CLIPS["train"]), len(davis.CLIPS["val"])) == (60, 30)
    assert davis.CLIPS["train"][:8] == (
        "bear",
        "bmx-bumps",
        "boat",
        "boxing-fisheye",
        "breakdance-flare",
        "bus",
        "car-turn",
        "cat-girl",
    )
    assert davis.CLIPS["train"][-1] == "walking"
    assert (davis.CLIPS["val"][0], davis.CLIPS["val"][-1]) == ("bike-packing", "soapbox")
    assert not set(davis.CLIPS["train"]) & set(davis.CLIPS["val"])


@pytest.mark.parametrize("whole", ["train", "val"])
def test_davis_in_a_folder_of_another_name(tmp_path, whole):
    """It has all videos of a split; what there is of the other one is its other split."""
    rest = "val" if whole == "train" else "train"
    for name in (*davis.CLIPS[whole], davis.CLIPS[rest][2], "contours"):
        frames(tmp_path / name, 1)
    assert names(find_clips(str(tmp_path), whole, None)) == list(davis.CLIPS[whole])
    assert names(find_clips(str(tmp_path), rest, None)) == [davis.CLIPS[rest][2]]


@pytest.mark.parametrize(
    ("own", "val"),
    [
        (["bear", "boat", "walking"], ["walking"]),  # all of DAVIS's train split
        (["camel", "judo"], ["judo"]),  # of its val split
        (["bear", "camel", "dog", "swing"], ["dog", "swing"]),  # of both
    ],
)
def test_clips_of_ones_own_may_have_names_of_davis(tmp_path, own, val):
    for name in own:
        frames(tmp_path / name, 2)
    assert names(find_clips(str(tmp_path), "val", None)) == val
    assert names(find_clips(str(tmp_path), "train", None)) == own[: -len(val)]


def test_davis_without_videos_of_the_split(tmp_path):
    frames(tmp_path / "JPEGImages" / "480p" / "bear", 1)
    (tmp_path / "JPEGImages" / "480p" / "camel").mkdir()
    with pytest.raises(ValueError, match=r"no val video of DAVIS.*480p"):
        find_clips(str(tmp_path), "val", None)


def test_folders_of_clips_are_split_by_name(tmp_path):
    for name in ("dog", "clip10", "clip2", "clip1", "surf", "other"):
        frames(tmp_path / name, 3)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("not a picture")
    train, val = (names(find_clips(str(tmp_path), split, None)) for split in ("train", "val"))
    assert train == ["clip1", "clip2", "clip10", "dog"]
    assert val == ["other", "surf"]


def test_folder_of_pictures_is_split_by_name(tmp_path):
    for index in range(4):
        picture(tmp_path / f"{index}.jpg", 50 * index)
    train, val = (find_clips(str(tmp_path), split, None) for split in ("train", "val"))
    assert names(train) == ["0.jpg", "1.jpg"]
    assert names(val) == ["2.jpg", "3.jpg"]
    assert len(train[0]) > 100  # a picture pans and zooms
    assert set(levels(val[1])) == {150}


@pytest.mark.parametrize(("count", "train"), [(2, 1), (3, 2), (9, 6)])
def test_two_thirds_go_to_train_and_at_least_one_to_val(tmp_path, count, train):
    for index in range(count):
        picture(tmp_path / f"{index}.png")
    assert len(find_clips(str(tmp_path), "train", None)) == train
    assert len(find_clips(str(tmp_path), "val", None)) == count - train


def test_single_picture_has_no_val(tmp_path):
    picture(tmp_path / "a.png")
    assert len(find_clips(str(tmp_path), "train", 8)) == 1
    with pytest.raises(ValueError, match=r"single clip.*val"):
        find_clips(str(tmp_path), "val", 8)


def test_frames_play_in_the_order_of_their_numbers(tmp_path):
    for index in (1, 2, 10):
        picture(tmp_path / "a" / f"frame{index}.png", index)
    picture(tmp_path / "b" / "0.png")
    assert levels(find_clips(str(tmp_path), "train", None)[0]) == [1, 2, 10]


def test_video_file_is_split_by_time(tmp_path):
    path = tmp_path / "film.mp4"
    with VideoWriter(path, 25) as writer:
        for index in range(60):
            writer.write(np.full((16, 16, 3), 15 + 4 * index, np.uint8))
    (train,), (val,) = (find_clips(str(path), split, 8) for split in ("train", "val"))
    assert (len(train), len(val)) == (40, 20)
    # In an order that needs key frames before and after, forwards and backwards.
    for index in (39, 38, 0, 5, 20):
        assert train.texture(index, 4).mean() == pytest.approx(15 + 4 * index, abs=2)
    assert val.texture(0, 4).mean() == pytest.approx(15 + 4 * 40, abs=2)


def test_folder_of_videos(tmp_path):
    for name in ("a.mp4", "b.mp4", "c.mp4"):
        with VideoWriter(tmp_path / name, 25) as writer:
            writer.write(np.zeros((16, 16, 3), np.uint8))
    assert names(find_clips(str(tmp_path), "train", None)) == ["a.mp4", "b.mp4"]


def test_bundled_pictures_share_no_scene_and_all_load():
    found = {split: find_clips(None, split, None) for split in ("train", "val")}
    assert len(found["train"]) >= 8
    assert len(found["val"]) >= 4
    assert not set(names(found["train"])) & set(names(found["val"]))
    # The two halves of a stereo pair are one scene.
    everything = BUNDLED["train"] + BUNDLED["val"]
    assert sum(name.startswith("motorcycle") for name in everything) == 1
    for clip in found["train"] + found["val"]:
        first, last = clip.texture(0, 50), clip.texture(len(clip) - 1, 50)
        assert first.std() > 10  # something is to be seen
        assert not np.array_equal(first, last)
        assert not first.flags.writeable


def test_fewer_clips_than_asked_is_all():
    assert len(find_clips(None, "train", 4)) == 4
    assert len(find_clips(None, "val", 1000)) == len(BUNDLED["val"])


def test_home_and_variables_are_expanded(tmp_path, monkeypatch):
    picture(tmp_path / "pictures" / "a.png")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PICTURES_HERE", "pictures")
    for path in ("~/pictures", "$HOME/pictures", "~/$PICTURES_HERE"):
        assert names(find_clips(path, "train", None)) == ["a.png"]


def test_wrong_paths_say_what_was_looked_for(tmp_path):
    with pytest.raises(ValueError, match=r"JPEGImages.*absent' does not exist"):
        find_clips(str(tmp_path / "absent"), "train", None)
    with pytest.raises(ValueError, match=r"nothing to show.*JPEGImages"):
        find_clips(str(tmp_path), "train", None)
    (tmp_path / "note.txt").write_text("no film")
    with pytest.raises(ValueError, match=r"note\.txt.*cannot be read"):
        find_clips(str(tmp_path / "note.txt"), "train", None)


@pytest.mark.parametrize("damage", ["text", "truncated", "gone"])
def test_damaged_picture_is_named_when_it_is_shown(tmp_path, damage):
    path = tmp_path / "a.jpg"
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (64, 64, 3), np.uint8)).save(path)
    (clip,) = find_clips(str(tmp_path), "train", None)
    if damage == "text":
        path.write_text("no picture")
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:800])
    else:
        path.unlink()
    with pytest.raises(ValueError, match=r"background: the picture '.*a\.jpg'"):
        clip.texture(0, 8)


def test_pan_moves_from_corner_to_corner_and_zooms_as_documented():
    for u in (0.0, 0.3, 1.0):
        for corner in range(4):
            left, top, right, bottom = pan_box(u, (200, 100), corner)
            assert (right - left, bottom - top) == pytest.approx(
                ((0.9 - 0.3 * u) * 200, (0.9 - 0.3 * u) * 100)
            )
            assert 0 <= left < right <= 200 + 1e-9
            assert 0 <= top < bottom <= 100 + 1e-9
    assert pan_box(0.0, (200, 100), 0)[:2] == (0.0, 0.0)
    assert pan_box(1.0, (200, 100), 0)[2:] == pytest.approx((200, 100))
    assert pan_box(0.0, (200, 100), 3)[2:] == pytest.approx((200, 100))


def test_pan_is_smooth():
    clip = find_clips(None, "train", 1)[0]
    shown = [clip.texture(index, 100).astype(int) for index in range(0, len(clip), 20)]
    near = [clip.texture(index + 1, 100).astype(int) for index in range(0, len(clip), 20)]
    for here, after, far in zip(shown, near, shown[1:], strict=False):
        assert 0 < np.abs(here - after).mean() < np.abs(here - far).mean()


def test_cache_is_bounded_and_keeps_the_latest():
    cache = clips._Cache(max_bytes=3 * 48)
    made = []

    def get(index):
        def make():
            made.append(index)
            return np.zeros((4, 4, 3), np.uint8)

        cache.get(("a", index, 4), make)
        assert cache._bytes <= 3 * 48

    for index in (0, 1, 2, 0, 3, 0, 1):
        get(index)
    assert made == [0, 1, 2, 3, 1]
