"""Which step methods a verl config switches on: the estimator's name says it, the ``rdiverse:`` block how."""

from dataclasses import dataclass

from omegaconf import DictConfig

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.settings import Dra, Extra, read_settings


@dataclass(frozen=True)
class Estimator:
    """What a name for ``algorithm.adv_estimator`` stands for.

    ``by_std=None`` leaves the division by the group's std to ``algorithm.norm_adv_by_std_in_grpo``.
    """

    dra: bool = False
    extra: bool = False
    by_std: bool | None = None


ESTIMATORS = {
    "dra_grpo": Estimator(dra=True),
    "dra_dr_grpo": Estimator(dra=True, by_std=False),
    "extra_grpo": Estimator(extra=True),
    "dra_extra_grpo": Estimator(dra=True, extra=True),
}
NOTHING = Estimator()


@dataclass(frozen=True)
class StepMethods:
    """The settings of the methods that are on; None for one that is off."""

    dra: Dra | None
    extra: Extra | None

    @property
    def regenerates(self) -> bool:
        return self.extra is not None and self.extra.regeneration.enable

    @property
    def embeds_all(self) -> bool:
        """DRA compares every answer of a group."""
        return self.dra is not None

    @property
    def embeds_correct(self) -> bool:
        """ExTra's novelty compares the correct ones."""
        return self.extra is not None and self.extra.gamma > 0 and self.extra.novelty == "embedding"

    @property
    def encodes(self) -> bool:
        return self.embeds_all or self.embeds_correct or self.regenerates


def read_step_methods(config: DictConfig) -> StepMethods:
    """From verl's whole config.

    Raises:
        ConfigError: as ``read_settings``, or a method is configured that the estimator does not use.
    """
    settings = read_settings(config)
    name = config.algorithm.adv_estimator
    estimator = ESTIMATORS.get(name, NOTHING)
    for block, used in (("dra", estimator.dra), ("extra", estimator.extra)):
        if getattr(settings, block) is not None and not used:
            raise ConfigError(
                f"rdiverse.{block} is given, but algorithm.adv_estimator={name} does not use it: "
                f"choose one of {', '.join(ESTIMATORS)} or take the block out (~rdiverse.{block})"
            )
    return StepMethods(
        dra=(settings.dra or Dra()) if estimator.dra else None,
        extra=(settings.extra or Extra()) if estimator.extra else None,
    )


def normalises_by_std(name: str, algorithm: DictConfig) -> bool:
    """Whether an estimator of ours divides by a group's std."""
    by_std = ESTIMATORS[name].by_std
    return bool(algorithm.get("norm_adv_by_std_in_grpo", True)) if by_std is None else by_std
