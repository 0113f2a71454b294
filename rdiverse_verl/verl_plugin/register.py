"""Our names in verl's registries. verl imports this module in every process (entry point group ``verl.plugins``).

Each registry wants real classes, and those need verl's trainer; so a name is registered when verl itself imports the
registry, and a process that never does pays nothing. A module of ours that cannot be imported fails that import.
"""

import importlib
import sys
from dataclasses import dataclass
from functools import partial
from types import ModuleType

from rdiverse_verl.verl_plugin.import_hook import after_import


@dataclass(frozen=True)
class Registry:
    """A verl registry: the module whose import opens it, and the table in it, as ``module:attribute``."""

    module: str
    table: str


REGISTRIES = {
    "trainer": Registry("verl.trainer.ppo.v1", "verl.trainer.ppo.v1.trainer_base:TRAINER_REGISTRY"),
    "reward_manager": Registry(
        "verl.experimental.reward_loop.reward_manager",
        "verl.experimental.reward_loop.reward_manager.registry:REWARD_MANAGER",
    ),
    "adv_estimator": Registry("verl.trainer.ppo.core_algos", "verl.trainer.ppo.core_algos:ADV_ESTIMATOR_REGISTRY"),
    "agent_loop": Registry(
        "verl.experimental.agent_loop.agent_loop", "verl.experimental.agent_loop.agent_loop:_agent_loop_registry"
    ),
}

# What a verl config may name -> the module whose class carries verl's decorator with that name.
NAMES = {
    "trainer": {
        "rdiverse_challenger": "rdiverse_verl.verl_plugin.challenger_trainer",
        "rdiverse_solver": "rdiverse_verl.verl_plugin.solver_trainer",
        "rdiverse_sync": "rdiverse_verl.verl_plugin.step_trainers",
        "rdiverse_colocate_async": "rdiverse_verl.verl_plugin.step_trainers",
        "rdiverse_separate_async": "rdiverse_verl.verl_plugin.step_trainers",
    },
    "reward_manager": {
        "rdiverse_challenger": "rdiverse_verl.verl_plugin.challenger_reward",
        "rdiverse_trajectory": "rdiverse_verl.verl_plugin.trajectory_reward",
    },
    "agent_loop": {
        "rdiverse_single_turn": "rdiverse_verl.verl_plugin.seeded_agent_loop",
        "rdiverse_prefix": "rdiverse_verl.verl_plugin.prefix_agent_loop",
    },
    "adv_estimator": {
        "dra_grpo": "rdiverse_verl.verl_plugin.estimators",
        "dra_dr_grpo": "rdiverse_verl.verl_plugin.estimators",
        "extra_grpo": "rdiverse_verl.verl_plugin.estimators",
        "dra_extra_grpo": "rdiverse_verl.verl_plugin.estimators",
    },
}


def missing_names() -> list[str]:
    """Our names that verl does not know in this process, as ``kind:name``; none when all is well. Imports verl."""
    importlib.import_module("verl")
    missing = []
    for kind, names in NAMES.items():
        importlib.import_module(REGISTRIES[kind].module)
        module, _, attribute = REGISTRIES[kind].table.partition(":")
        table = getattr(importlib.import_module(module), attribute)
        missing += [f"{kind}:{name}" for name in names if name not in table]
    return missing


def _register(kind: str, registry: ModuleType) -> None:
    for name, module in NAMES[kind].items():
        try:
            importlib.import_module(module)
        except Exception as error:
            problem = f"rdiverse-verl cannot register the {kind} {name!r} ({module}): {type(error).__name__}: {error}"
            print(problem, file=sys.stderr, flush=True)
            raise ImportError(problem) from error


for _kind in NAMES:
    after_import(REGISTRIES[_kind].module, partial(_register, _kind))
