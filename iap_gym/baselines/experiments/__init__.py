"""From a config to a run folder: train, evaluate, film, plot and report."""
