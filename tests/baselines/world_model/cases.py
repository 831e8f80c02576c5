"""Small models and batches that several tests use."""

import torch

from iap_gym.baselines.world_model import WorldModel

OBS, ACT = 3, 2

# core: options; every kind of layer that the kernel knows, stacked ones too
CORES = {
    "gatel0rd": ("gatel0rd", {}),
    "gatel0rd, 3 internal layers": ("gatel0rd", {"num_internal_layers": 3}),
    "gatel0rd, 2 cells of sigmoids": (
        "gatel0rd",
        {"num_layers": 2, "gate": "sigmoid", "multiplicative_output": False},
    ),
    "gatel0rd, heaviside": ("gatel0rd", {"gate": "heaviside", "output_size": 4}),
    "lstm": ("lstm", {}),
    "3 lstm": ("lstm", {"num_layers": 3}),
    "gru": ("gru", {}),
    "3 gru": ("gru", {"num_layers": 3}),
    "elman": ("elman", {}),
    "3 elman": ("elman", {"num_layers": 3}),
    "clockwork": ("clockwork", {}),
}
FUSED = [name for name in CORES if name != "clockwork"]


def make(name="gatel0rd", dtype=torch.float32, **changes):
    core, options = CORES[name]
    settings = {
        "hidden_size": 5,
        "pre_widths": (11, 6),
        "context_widths": (7,),
        "context_inputs": 2,
        "backend": "torch",
    } | changes
    torch.manual_seed(0)
    return WorldModel(OBS, ACT, core, core_options=options, **settings).to(dtype)


def batch(time=7, size=21, dtype=torch.float32, seed=0):
    """Observations, actions, and a mask with a mixture after two real inputs."""
    generator = torch.Generator().manual_seed(seed)
    observations = torch.randn(time + 1, size, OBS, generator=generator).to(dtype)
    actions = torch.randn(time, size, ACT, generator=generator).to(dtype)
    real = torch.rand(time, size, generator=generator) < 0.5
    real[:2] = True
    return observations, actions, real
