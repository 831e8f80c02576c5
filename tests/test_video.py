import math

import numpy as np
import pytest

from iap_gym._video import VideoFrames, VideoWriter, read_video


def film(path, count, shape=(48, 64), fps=25):
    """Write frames whose brightness tells their number, 4 levels apart; return them."""
    frames = [np.full((*shape, 3), 20 + 4 * index, np.uint8) for index in range(count)]
    with VideoWriter(path, fps) as writer:
        for frame in frames:
            writer.write(frame)
    return frames


def number(frame):
    return round((float(frame.mean()) - 20) / 4)


def test_frames_come_back_in_order(tmp_path):
    frames = film(tmp_path / "a.mp4", 40)
    read = list(read_video(tmp_path / "a.mp4"))
    assert len(read) == 40
    for got, wanted in zip(read, frames, strict=True):
        assert got.dtype == np.uint8
        assert got.shape == wanted.shape
        assert abs(got.astype(int) - wanted).mean() < 3
    assert [number(frame) for frame in read] == list(range(40))


def test_colours_and_places_survive(tmp_path):
    frame = np.zeros((64, 96, 3), np.uint8)
    frame[:32, :, 0], frame[32:, :48, 1], frame[32:, 48:, 2] = 200, 200, 200
    with VideoWriter(tmp_path / "a.mp4", 10) as writer:
        for _ in range(3):
            writer.write(frame)
    read = list(read_video(tmp_path / "a.mp4"))[-1].astype(int)
    for place in ((16, 48), (48, 24), (48, 72)):
        assert abs(read[place] - frame[place]).max() < 12


def test_odd_sizes_are_padded(tmp_path):
    film(tmp_path / "a.mp4", 2, shape=(33, 51))
    assert next(read_video(tmp_path / "a.mp4")).shape == (34, 52, 3)


def test_frame_rate_gives_the_duration(tmp_path):
    av = pytest.importorskip("av")
    film(tmp_path / "a.mp4", 30, fps=12.5)
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert float(container.streams.video[0].average_rate) == pytest.approx(12.5)
        assert container.duration / av.time_base == pytest.approx(30 / 12.5, abs=0.1)


def test_frames_by_number_over_several_key_frames(tmp_path):
    # x264 puts a key frame every 250 frames at most; 58 levels of grey are enough here.
    path = tmp_path / "long.mp4"
    with VideoWriter(path, 25) as writer:
        for index in range(300):
            writer.write(np.full((16, 16, 3), 20 + 4 * (index % 50), np.uint8))
    frames = VideoFrames(path)
    assert len(frames) == 300
    for index in (0, 1, 57, 249, 250, 299, 3):
        read = dict(frames.read_until(index))
        assert max(read) == index
        assert number(read[index]) == index % 50


@pytest.mark.parametrize("index", [-1, 3, 1.5])
def test_frame_out_of_range(tmp_path, index):
    film(tmp_path / "a.mp4", 3)
    with pytest.raises(ValueError, match="index"):
        list(VideoFrames(tmp_path / "a.mp4").read_until(index))


@pytest.mark.parametrize("read", [lambda path: list(read_video(path)), VideoFrames])
def test_unreadable_files_are_named(tmp_path, read):
    with pytest.raises(ValueError, match=r"absent\.mp4.*does not exist"):
        read(tmp_path / "absent.mp4")
    (tmp_path / "text.mp4").write_text("no film")
    with pytest.raises(ValueError, match=r"text\.mp4.*cannot be read"):
        read(tmp_path / "text.mp4")


def test_truncated_film_is_named(tmp_path):
    film(tmp_path / "a.mp4", 40)
    data = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "b.mp4").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"b\.mp4"):
        list(read_video(tmp_path / "b.mp4"))


def test_nothing_is_left_of_a_film_that_failed(tmp_path):
    (tmp_path / "a.mp4").write_text("the film before")

    def fail():
        with VideoWriter(tmp_path / "a.mp4", 25) as writer:
            writer.write(np.zeros((16, 16, 3), np.uint8))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (tmp_path / "a.mp4").read_text() == "the film before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_film_appears_only_when_it_is_whole(tmp_path):
    with VideoWriter(tmp_path / "a.mp4", 25) as writer:
        writer.write(np.zeros((16, 16, 3), np.uint8))
        assert not (tmp_path / "a.mp4").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((16, 16, 3)),
        np.zeros((16, 16), np.uint8),
        np.zeros((16, 16, 4), np.uint8),
        np.zeros((0, 16, 3), np.uint8),
        np.zeros((18, 16, 3), np.uint8),
        [[0]],
    ],
)
def test_wrong_frames_are_refused(tmp_path, frame):
    with VideoWriter(tmp_path / "a.mp4", 25) as writer:
        writer.write(np.zeros((16, 16, 3), np.uint8))
        with pytest.raises(ValueError, match="frame"):
            writer.write(frame)


@pytest.mark.parametrize("fps", [0, -1, math.nan, "25"])
def test_wrong_frame_rate(tmp_path, fps):
    with pytest.raises(ValueError, match="fps"):
        VideoWriter(tmp_path / "a.mp4", fps)


def test_missing_folder_and_no_frames(tmp_path):
    with pytest.raises(ValueError, match="folder that exists"):
        VideoWriter(tmp_path / "absent" / "a.mp4", 25)
    with pytest.raises(ValueError, match="no frame"), VideoWriter(tmp_path / "a.mp4", 25):
        pass
    assert not list(tmp_path.iterdir())
