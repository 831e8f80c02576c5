"""Train PPO on Robot Remote Control from its own reward alone, and compare it.

    python examples/robot_remote_control.py                     about two minutes of one core
    python examples/robot_remote_control.py --core gatel0rd     RecurrentPPO

Whether the robot is controlled is not observed. PPO without memory does without; one with a memory
can notice it.
"""

import gymnasium
from _planar import NUM_WORLDS, compare, make_parser, train

from iap_gym.envs.planar.policies import solve_robot_remote_control

ENV = "iap_gym/RobotRemoteControl-v0"


def main() -> None:
    """Train and compare."""
    args = make_parser(__doc__, core="none", steps=8_000_000).parse_args()
    env = gymnasium.make_vec(f"iap_gym:{ENV}", NUM_WORLDS, "vector_entry_point")
    model = train(env, args.core, gamma=0.98, learning_rate=1e-3, args=args)
    compare(ENV, {}, model, solve_robot_remote_control, args)


if __name__ == "__main__":
    main()
