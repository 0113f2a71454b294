"""Which prompts nobody solved (ExTra, Alg. 1 l. 19)."""

import numpy as np

from rdiverse_verl.algorithms.groups import Groups


def hard_groups(correct_N: np.ndarray, groups: Groups, min_sessions: int = 2) -> np.ndarray:
    """hard_B, bool: the groups whose pass rate is 0, one success being too many, over at least `min_sessions` sessions.

    Args:
        correct_N: bool, the verifier's verdict, not a shaped score.
    """
    passed_B = groups.gather(np.asarray(correct_N, dtype=bool)).any(axis=0)
    return ~passed_B & (groups.size_B >= min_sessions)
