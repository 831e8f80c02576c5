"""What the page about world models lists is all that there is."""

import dataclasses
import inspect
from pathlib import Path

from iap_gym.baselines import WorldModel
from iap_gym.baselines.world_model.config import DECIDED, MODEL_ARGUMENTS, ModelConfig
from iap_gym.cli.train_model import OPTIONS

PAGE = Path(__file__).parents[3] / "docs" / "world_models.md"


def cells(head):
    """First cells of the table that begins with a head."""
    lines = PAGE.read_text(encoding="utf-8").partition(f"| {head} |")[2].splitlines()[2:]
    rows = lines[: lines.index("")]
    return {name for row in rows for name in row.split("|")[1].split("`")[1::2]}


def test_arguments_of_the_model():
    assert cells("argument") == set(inspect.signature(WorldModel).parameters)
    assert cells("argument") == {*MODEL_ARGUMENTS, *DECIDED}


def test_what_algo_kwargs_take():
    fields = {field.name for field in dataclasses.fields(ModelConfig)}
    assert cells("`--algo-kwargs`") == fields - {*OPTIONS, "algo", "model", "data_sha256"}
