"""dm_control's own rendering, which ours is compared with, is settled when it is first imported."""

from iap_gym.envs._gl import choose_backend

choose_backend()
