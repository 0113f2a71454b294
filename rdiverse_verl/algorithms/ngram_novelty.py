"""Lexical novelty of a correct answer: how rare its n-grams are (ExTra, Tab. 6, "N-gram count")."""

from collections.abc import Sequence

import numpy as np

from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.errors import ConfigError


def ngram_novelty(
    tokens_N: Sequence[np.ndarray],
    correct_N: np.ndarray,
    groups: Groups,
    memory_B: Sequence[Sequence[np.ndarray]],
    *,
    n: int = 4,
) -> np.ndarray:
    """Mean over the n-grams g of a correct row of 1 / sqrt(1 + count(g)); 0 for all others and for fewer than n tokens.

    The count runs over the correct siblings and the remembered correct answers of the prompt, never over the row
    itself, so that a row whose n-grams nobody else used earns 1.

    Args:
        tokens_N: token ids of each row; read only where correct.
        memory_B: token ids of earlier correct answers, by group of `groups`.

    Returns:
        novelty_N, float64 in [0, 1], a session's value on each of its outputs.
    """
    if n < 1:
        raise ConfigError(f"n-grams need n >= 1, not {n}")
    correct_G_B = groups.gather(np.asarray(correct_N, dtype=bool))
    novelty_G_B = np.zeros(correct_G_B.shape)
    for b in np.flatnonzero(correct_G_B.any(axis=0)).tolist():
        places = np.flatnonzero(correct_G_B[:, b])
        answers = [tokens_N[row] for row in groups.member_G_B[places, b]]
        novelty_G_B[places, b] = _rarity(answers, memory_B[b], n)
    return groups.scatter(novelty_G_B)


def _rarity(answers: list[np.ndarray], remembered: Sequence[np.ndarray], n: int) -> list[float]:
    grams = [_ngrams(tokens, n) for tokens in (*answers, *remembered)]
    kinds, number_W = np.unique(np.concatenate(grams), axis=0, return_inverse=True)
    number_by_text = np.split(number_W.reshape(-1), np.cumsum([len(windows) for windows in grams])[:-1])
    count_U = np.bincount(number_W.reshape(-1), minlength=len(kinds))
    rarities = []
    for number_W in number_by_text[: len(answers)]:
        others_U = count_U - np.bincount(number_W, minlength=len(kinds))
        rarities.append(float((1 / np.sqrt(1 + others_U[number_W])).mean()) if len(number_W) else 0.0)
    return rarities


def _ngrams(tokens: np.ndarray, n: int) -> np.ndarray:
    tokens = np.asarray(tokens, dtype=np.int64)
    if len(tokens) < n:
        return np.empty((0, n), dtype=np.int64)
    return np.lib.stride_tricks.sliding_window_view(tokens, n)
