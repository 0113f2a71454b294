"""The verl configuration of a training phase: verl's own defaults, what self-play needs, and what the recipe adds.

The phase folder gets a ``verl.yaml`` that holds the differences only, and anybody can run it again:
``python -m verl.trainer.main_ppo --config-path PHASE --config-name verl``.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from rdiverse_verl.config import nearest
from rdiverse_verl.errors import ConfigError

Tree = dict[str, Any]

# Where verl takes keys that its YAML does not list.
OPEN = (
    "rdiverse",
    "ray_kwargs.ray_init",
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.rollout",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision",
    "actor_rollout_ref.ref.fsdp_config.mixed_precision",
    "actor_rollout_ref.rollout.engine_kwargs",
    "reward.reward_kwargs",
    "reward.reward_model.rollout",
)


def write_verl_config(path: Path, differences: Tree, base: str = "ppo_trainer") -> None:
    """Write a primary config for verl's hydra entry point."""
    logs = {"output_subdir": None, "run": {"dir": str(path.parent / "logs")}}
    header = {
        "hydra": {"searchpath": ["pkg://verl.trainer.config"], **logs},
        "defaults": [base, "_self_"],
    }
    path.write_text(yaml.safe_dump({**header, **differences}, sort_keys=False), encoding="utf-8")


def merge(*trees: Tree) -> Tree:
    """Nested dictionaries laid over each other; the last one wins."""
    merged = OmegaConf.merge(*(OmegaConf.create(tree) for tree in trees))
    return OmegaConf.to_container(merged)  # type: ignore[return-value]


def check_keys(differences: Tree, source: str, base: str = "ppo_trainer") -> None:
    """Raises ConfigError for a key that verl's config does not have."""
    _check(differences, _verl_defaults(base), "", source)


def _check(tree: Tree, known: Any, prefix: str, source: str) -> None:
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else key
        if any(name == part or name.startswith(f"{part}.") for part in OPEN):
            continue
        if not isinstance(known, DictConfig) or key not in known:
            hint = nearest(key, [str(k) for k in known]) if isinstance(known, DictConfig) else ""
            raise ConfigError(f"{source}: verl has no key {name!r}{hint}")
        below = known._get_node(key)
        if isinstance(value, dict):
            _check(value, below, name, source)
        elif isinstance(below, DictConfig) and value is not None:
            raise ConfigError(
                f"{source}: {name!r} is {value!r}, but verl has keys below it: {', '.join(map(str, below))}"
            )


def _verl_defaults(base: str) -> DictConfig:
    from hydra import compose, initialize_config_dir  # comes with verl

    spec = find_spec("verl")
    if spec is None or spec.origin is None:
        raise ConfigError("verl is not installed; install 'rdiverse-verl[cpu]' or 'rdiverse-verl[gpu]'")
    folder = Path(spec.origin).parent / "trainer" / "config"
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        return compose(config_name=base)
