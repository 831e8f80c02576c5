"""Train RecurrentPPO on Shepherd, whose reward chance never finds, and compare it.

    python examples/shepherd.py                  seven minutes of one core
    python examples/shepherd.py --start left     half of the starts are far from the sheep
    python examples/shepherd.py --core none      PPO without memory

Training has two helps that know the true state: four of five episodes start along a solution, and
potential-based shaping leads the way. The evaluation has neither.
"""

from _planar import NUM_WORLDS, compare, make_parser, train

from iap_gym.envs.planar.policies import solve_shepherd
from iap_gym.envs.planar.shaping import PotentialShaping, shepherd_potential
from iap_gym.envs.planar.shepherd import STARTS
from iap_gym.envs.planar.solution_starts import ShepherdWithSolutionsVectorEnv
from iap_gym.registry import PLANAR_WORLDS

GAMMA = 0.99


def main() -> None:
    """Train and compare."""
    parser = make_parser(__doc__, core="gatel0rd", steps=8_000_000)
    parser.add_argument("--start", choices=STARTS, default="right", help="of the agent")
    args = parser.parse_args()
    env = ShepherdWithSolutionsVectorEnv(NUM_WORLDS, PLANAR_WORLDS["Shepherd"], start=args.start)
    shaped = PotentialShaping(env, shepherd_potential, GAMMA)
    model = train(shaped, args.core, gamma=GAMMA, learning_rate=1e-3, args=args)
    compare("iap_gym/Shepherd-v0", {"start": args.start}, model, solve_shepherd, args)


if __name__ == "__main__":
    main()
