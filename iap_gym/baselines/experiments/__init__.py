"""From a config to a run folder: train, evaluate, film, plot and report."""

from iap_gym._optional import need

need("baselines", "torch", "safetensors", "tensorboard", "matplotlib", "scipy", "tqdm", "PIL", "av")
