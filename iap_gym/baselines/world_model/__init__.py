"""World models: observations predicted from actions, by any recurrent core.

From Gumbsch, Butz and Martius (2021), "Sparsely Changing Latent States for Prediction and Planning
in Partially Observable Domains": the model of their section 4 and how it was trained.
"""

from iap_gym._optional import need

need("baselines", "torch", "safetensors")

from iap_gym.baselines.world_model.learning import Gradients, Losses, TrainingStep
from iap_gym.baselines.world_model.model import Prediction, WorldModel
from iap_gym.baselines.world_model.sampling import draw_real, sampling_probability
from iap_gym.baselines.world_model.state import ModelState

__all__ = [
    "Gradients",
    "Losses",
    "ModelState",
    "Prediction",
    "TrainingStep",
    "WorldModel",
    "draw_real",
    "sampling_probability",
]
