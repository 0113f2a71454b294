"""Which rows of a batch belong together: groups by prompt, sessions by last output, padding left out.

Rows of a group may stand anywhere in the batch. Members of a group are ordered by session, never by row, and sums run
over them one at a time, so that a group's numbers do not depend, to the bit, on row order or on the other groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rdiverse_verl.errors import DataError


@dataclass(frozen=True, eq=False)
class Groups:
    """A batch of N rows as B groups of at most G sessions.

    Attributes:
        member_G_B: int64, the row that holds the last output of group b's g-th session; -1 behind its last session.
        final_N: int64, the row that holds the last output of the row's session; -1 for padding rows.
    """

    member_G_B: np.ndarray
    final_N: np.ndarray

    @cached_property
    def present_G_B(self) -> np.ndarray:
        """bool, where a group has a session."""
        return self.member_G_B >= 0

    @cached_property
    def size_B(self) -> np.ndarray:
        """int64, sessions of each group."""
        return self.present_G_B.sum(axis=0)

    @cached_property
    def leader_B(self) -> np.ndarray:
        """int64, the row of each group's first session: where to read what all its rows share."""
        return self.member_G_B[0]

    def gather(self, values_N: np.ndarray) -> np.ndarray:
        """values_G_B (or values_G_B_D of rows): each session's last output; 0 where a group has no session."""
        values_N = np.asarray(values_N)
        if len(values_N) != len(self.final_N):
            raise DataError(f"{len(values_N)} values for a batch of {len(self.final_N)} rows")
        values_G_B = values_N[self.member_G_B]
        values_G_B[~self.present_G_B] = 0
        return values_G_B

    def restrict(self, keep_N: np.ndarray) -> "Groups":
        """The same B groups without the sessions whose last output is not kept; a group may end empty."""
        keep_G_B = self.gather(np.asarray(keep_N, dtype=bool))
        first_kept_G_B = np.argsort(~keep_G_B, axis=0, kind="stable")
        member_G_B = np.take_along_axis(np.where(keep_G_B, self.member_G_B, -1), first_kept_G_B, axis=0)
        most = keep_G_B.sum(axis=0).max(initial=1)
        return Groups(member_G_B[:most], self.final_N)

    def scatter(self, values_G_B: np.ndarray) -> np.ndarray:
        """values_N: a session's value on each of its outputs, 0 on padding rows."""
        values_N = np.zeros(len(self.final_N) + 1, dtype=values_G_B.dtype)
        values_N[self.member_G_B[self.present_G_B]] = values_G_B[self.present_G_B]
        return values_N[self.final_N]


def group_by_key(keys: Sequence[str], is_padding_N: np.ndarray | None = None) -> Groups:
    """Groups of rows whose keys read ``{uid}_{session}_{index}``; a session counts once, by its largest index.

    Args:
        keys: one a row, distinct among rows that are not padding.
        is_padding_N: bool, rows that belong to nobody. Their keys are not read.

    Raises DataError for a key of another form and for a key that occurs twice.
    """
    padding_N = np.zeros(len(keys), dtype=bool) if is_padding_N is None else np.asarray(is_padding_N, dtype=bool)
    rows = np.flatnonzero(~padding_N)
    parts = [_parse(keys[row], row) for row in rows.tolist()]
    uids = [uid for uid, _, _ in parts]
    session_R = np.array([session for _, session, _ in parts], dtype=np.int64)
    output_R = np.array([output for _, _, output in parts], dtype=np.int64)
    return _build(rows, _numbers(uids), session_R, output_R, len(keys))


def group_by_uid(uids: Sequence[str], is_padding_N: np.ndarray | None = None) -> Groups:
    """Groups of rows with equal uids, each row a session of its own; members keep the order of rows."""
    padding_N = np.zeros(len(uids), dtype=bool) if is_padding_N is None else np.asarray(is_padding_N, dtype=bool)
    rows = np.flatnonzero(~padding_N)
    return _build(rows, _numbers([uids[row] for row in rows.tolist()]), rows, np.zeros_like(rows), len(uids))


def total(values_G_B: np.ndarray) -> np.ndarray:
    """Sum over a group's members, one after the other: what stands beside it cannot change its rounding."""
    sum_B = np.zeros_like(values_G_B[0])
    for values_B in values_G_B:
        sum_B += values_B
    return sum_B


def _parse(key: str, row: int) -> tuple[str, int, int]:
    try:
        uid, session, output = key.rsplit("_", 2)
        return uid, int(session), int(output)
    except ValueError:
        raise DataError(f"key {key!r} of row {row} does not read uid_session_index") from None


def _numbers(uids: list[str]) -> np.ndarray:
    number: dict[str, int] = {}
    return np.array([number.setdefault(uid, len(number)) for uid in uids], dtype=np.int64)


def _build(rows: np.ndarray, group_R: np.ndarray, session_R: np.ndarray, output_R: np.ndarray, n: int) -> Groups:
    """From the rows that count, each with its group, session and output, to the table of last outputs."""
    if not len(rows):
        return Groups(np.empty((1, 0), dtype=np.int64), np.full(n, -1))
    order_R = np.lexsort((output_R, session_R, group_R))
    rows, group_R, session_R, output_R = rows[order_R], group_R[order_R], session_R[order_R], output_R[order_R]
    same_group = group_R[1:] == group_R[:-1]
    same_session = same_group & (session_R[1:] == session_R[:-1])
    twice = np.flatnonzero(same_session & (output_R[1:] == output_R[:-1]))
    if twice.size:
        first, second = rows[twice[0] : twice[0] + 2]
        raise DataError(f"rows {first} and {second} have the same key; a session has one row an output")

    last_S = np.flatnonzero(np.append(~same_session, True))
    session_number_R = np.concatenate([[0], np.cumsum(~same_session)])
    final_N = np.full(n, -1)
    final_N[rows] = rows[last_S][session_number_R]

    group_S = group_R[last_S]
    first_B = np.flatnonzero(np.append(True, group_S[1:] != group_S[:-1]))
    place_S = np.arange(len(group_S)) - np.repeat(first_B, np.diff(np.append(first_B, len(group_S))))
    member_G_B = np.full((place_S.max() + 1, len(first_B)), -1)
    member_G_B[place_S, group_S] = rows[last_S]
    return Groups(member_G_B, final_N)
