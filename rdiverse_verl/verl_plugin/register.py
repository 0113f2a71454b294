"""Our names in verl's registries. verl imports this module in every process (entry point group ``verl.plugins``).

Each registry wants real classes, and those need verl's trainer; so a name is registered when verl itself imports the
registry, and a process that never does pays nothing. A name that cannot be registered fails that import.
"""

import importlib
import sys
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from rdiverse_verl.verl_plugin.import_hook import after_import


@dataclass(frozen=True)
class Registry:
    """A verl registry: the module whose import fills it, its decorator there, and the table behind it."""

    module: str
    decorator: str
    table: str


REGISTRIES = {
    "trainer": Registry("verl.trainer.ppo.v1", "register_trainer", "verl.trainer.ppo.v1.trainer_base:TRAINER_REGISTRY"),
    "reward_manager": Registry(
        "verl.experimental.reward_loop.reward_manager",
        "register",
        "verl.experimental.reward_loop.reward_manager.registry:REWARD_MANAGER",
    ),
    "agent_loop": Registry(
        "verl.experimental.agent_loop.agent_loop",
        "register",
        "verl.experimental.agent_loop.agent_loop:_agent_loop_registry",
    ),
}

# What a verl config may name -> where it lives.
NAMES = {
    "trainer": {
        "rdiverse_challenger": "rdiverse_verl.verl_plugin.challenger_trainer:ChallengerTrainer",
        "rdiverse_solver": "rdiverse_verl.verl_plugin.solver_trainer:SolverTrainer",
    },
    "reward_manager": {
        "rdiverse_challenger": "rdiverse_verl.verl_plugin.challenger_reward:ChallengerRewardManager",
    },
    "agent_loop": {
        "rdiverse_single_turn": "rdiverse_verl.verl_plugin.seeded_agent_loop:SeededAgentLoop",
    },
}


def missing_names() -> list[str]:
    """Our names that verl does not know in this process, as ``kind:name``; none when all is well. Imports verl."""
    importlib.import_module("verl")
    missing = []
    for kind, names in NAMES.items():
        importlib.import_module(REGISTRIES[kind].module)
        table = _load(REGISTRIES[kind].table)
        missing += [f"{kind}:{name}" for name in names if name not in table]
    return missing


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _register(kind: str, registry: ModuleType) -> None:
    for name, target in NAMES[kind].items():
        try:
            getattr(registry, REGISTRIES[kind].decorator)(name)(_load(target))
        except Exception as error:
            problem = f"rdiverse-verl cannot register the {kind} {name!r} ({target}): {type(error).__name__}: {error}"
            print(problem, file=sys.stderr, flush=True)
            raise ImportError(problem) from error


for _kind in NAMES:
    after_import(REGISTRIES[_kind].module, partial(_register, _kind))
