"""What a trainer knows of a batch's rows and hands to an estimator, which verl gives rewards and masks only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.errors import ConfigError, StateError
from rdiverse_verl.verl_plugin.settings import Dra, Extra


@dataclass(frozen=True, eq=False)
class GroupContext:
    """N rows in the batch's order.

    Attributes:
        uid_N: what verl's ``index`` must be equal to.
        weight_N: DRA's weights; 1 without DRA. novelty_N: ExTra's bonus; 0 without ExTra.
    """

    uid_N: Sequence[str]
    groups: Groups
    weight_N: np.ndarray
    novelty_N: np.ndarray
    dra: Dra
    extra: Extra


_current: ContextVar[GroupContext | None] = ContextVar("rdiverse_group_context", default=None)


@contextmanager
def group_context(context: GroupContext) -> Iterator[None]:
    """Set the context for an estimator called inside."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


def current_context(estimator: str, uid_N: Sequence[str]) -> GroupContext:
    """The context of the batch whose uids are given.

    Raises:
        ConfigError: none is set: the trainer is not one of ours.
        StateError: it is another batch's.
    """
    context = _current.get()
    if context is None:
        raise ConfigError(
            f"algorithm.adv_estimator={estimator} needs a trainer that tells it about groups: set "
            "trainer.v1.trainer_mode to rdiverse_sync, rdiverse_colocate_async or rdiverse_separate_async"
        )
    if list(uid_N) != list(context.uid_N):
        raise StateError(f"{estimator}: the rows given to the estimator are not those of the step's batch")
    return context
