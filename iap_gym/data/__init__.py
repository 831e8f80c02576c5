"""The data sets of the GateL0RD paper: collected anew, in one file each, mapped when read.

From Gumbsch, Butz and Martius (2021), "Sparsely Changing Latent States for Prediction and Planning
in Partially Observable Domains": their balance of events, their sizes, and for the planar worlds
their policies; those of Fetch Pick and Place were not published.
"""

from iap_gym.data.dataset import Batch, SequenceDataset, load
from iap_gym.data.exchange import from_minari, to_minari
from iap_gym.data.file import DataFileError
from iap_gym.data.making import make_dataset

__all__ = [
    "Batch",
    "DataFileError",
    "SequenceDataset",
    "from_minari",
    "load",
    "make_dataset",
    "to_minari",
]
