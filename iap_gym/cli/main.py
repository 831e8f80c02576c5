"""Entry point of ``iap-gym``: finds the subcommand, turns a user's mistakes into one line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import gymnasium

import iap_gym

# name: (module of this package, one line of help)
COMMANDS = {
    "list": ("list_envs", "the environments, and whether they can be made here"),
    "doctor": ("doctor", "what this machine has, and the fix for each fault"),
    "train": ("train", "train an agent into a run folder"),
    "evaluate": ("evaluate", "a trained agent beside the random, zero and blind one"),
    "watch": ("watch", "film a trained agent with what it attends to"),
    "plot": ("plot", "training curves of one run or several"),
    "reproduce": ("reproduce", "figures of the papers, computed anew"),
    "data": ("data", "make, look at and exchange the data sets of the GateL0RD paper"),
}

OK, FAILURE, BAD_ARGUMENTS = 0, 1, 2


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text before it."""

    def error(self, message: str) -> NoReturn:
        """Leave with the exit code of bad arguments."""
        self.exit(BAD_ARGUMENTS, f"{self.prog}: {message}\n")


def build_parser() -> Parser:
    """Build the parser; a subcommand adds its own arguments when it is chosen."""
    parser = Parser(prog="iap-gym", description=iap_gym.__doc__)
    parser.add_argument("--version", action="version", version=iap_gym.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    ``IAP_GYM_TRACEBACK=1`` in the environment shows where an error came from.

    Returns:
        0 on success, 1 on failure, 2 on bad arguments.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = "iap-gym"
    try:
        name = f"iap-gym {build_parser().parse_args(words[:1]).command}"
        return _run(words[0], words[1:])
    except SystemExit as leaving:  # --help, --version and bad arguments
        return leaving.code if isinstance(leaving.code, int) else FAILURE
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        code, message = FAILURE, "interrupted; what was saved stays"
    except gymnasium.error.DependencyNotInstalled as error:
        code, message = FAILURE, error
    except (ValueError, FileExistsError, FileNotFoundError, gymnasium.error.Error) as error:
        code, message = BAD_ARGUMENTS, error
    except (RuntimeError, OSError, ImportError) as error:
        code, message = FAILURE, error
    except Exception as error:  # an environment's own code may raise anything
        code, message = FAILURE, f"{type(error).__name__}: {error}"
    if os.environ.get("IAP_GYM_TRACEBACK"):
        traceback.print_exc()
    # A worker's traceback follows its summary; one line is what a reader wants first.
    text = " ".join(str(message).partition("\nTraceback")[0].split())
    print(f"{name}: {text or type(message).__name__}", file=sys.stderr)
    return code


def _run(name: str, words: Sequence[str]) -> int:
    module_name, text = COMMANDS[name]
    # Ids of "module:id" may live where the user stands, as with python -m.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    module = importlib.import_module(f"iap_gym.cli.{module_name}")
    parser = Parser(prog=f"iap-gym {name}", description=text)
    module.add_arguments(parser)
    return module.run(parser.parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
