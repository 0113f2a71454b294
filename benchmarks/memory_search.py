"""Memory search and clustering at full size, as ratios to a plain numpy loop on the same machine.

    python benchmarks/memory_search.py [--rows 100000] [--batch 512] [--dim 384]

The loop takes one query at a time, as a reward function called per sample would: one float32 product with the whole
memory, then the maximum and the mean.
"""

import argparse
import time

import numpy as np

from rdiverse_verl.algorithms.repetition import skill_clusters
from rdiverse_verl.memory import FrozenMemory, MemoryRow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--cluster-rows", type=int, default=2048)
    given = parser.parse_args()

    history_M_D, queries_N_D = unit_rows(given.rows, given.dim, 1), unit_rows(given.batch, given.dim, 2)
    memory = FrozenMemory([MemoryRow("q", "a", 0.5, 1, "", row) for row in history_M_D], given.dim)
    search_s, (p_max_N, p_mean_N) = timed(lambda: memory.similarity(queries_N_D))
    loop_s, (slow_max_N, slow_mean_N) = timed(lambda: one_by_one(queries_N_D, history_M_D))
    np.testing.assert_allclose(p_max_N, slow_max_N, atol=1e-6)
    np.testing.assert_allclose(p_mean_N, slow_mean_N, atol=1e-6)
    print(f"search {given.batch} x {given.rows} x {given.dim}: {search_s:.2f} s, loop {loop_s:.2f} s")
    print(f"search is {loop_s / search_s:.1f} x the loop's speed")

    single_s, _ = timed(lambda: [memory.similarity(queries_N_D[i : i + 1]) for i in range(16)])
    print(f"one query: {single_s / 16 * 1e3:.1f} ms, {loop_s / given.batch * 1e3:.1f} ms in the loop")

    skills_K_D = unit_rows(given.cluster_rows // 8, given.dim, 3)
    noise_N_D = 0.3 * unit_rows(given.cluster_rows, given.dim, 4)
    batch_N_D = normalised(skills_K_D[np.arange(given.cluster_rows) % len(skills_K_D)] + noise_N_D)
    cluster_s, labels_N = timed(lambda: skill_clusters(batch_N_D, 0.5))
    print(f"clustering {given.cluster_rows} rows into {labels_N.max() + 1} skills: {cluster_s:.2f} s")


def one_by_one(queries_N_D: np.ndarray, history_M_D: np.ndarray) -> tuple[list[float], list[float]]:
    similarities = (history_M_D @ query_D for query_D in queries_N_D)
    pairs = [(float(sim_M.max()), float(sim_M.mean(dtype=np.float64))) for sim_M in similarities]
    return [p_max for p_max, _ in pairs], [p_mean for _, p_mean in pairs]


def unit_rows(n: int, dim: int, seed: int) -> np.ndarray:
    return normalised(np.random.default_rng(seed).normal(size=(n, dim)))


def normalised(emb_N_D: np.ndarray) -> np.ndarray:
    return (emb_N_D / np.linalg.norm(emb_N_D, axis=1, keepdims=True)).astype(np.float32)


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
