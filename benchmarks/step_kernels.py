"""The per-step kernels of DRA-GRPO and ExTra against per-sample loops, as ratios on the same machine.

    python benchmarks/step_kernels.py [--prompts 512] [--group 6 32] [--dim 384]

The loops follow the description of the released codes: one zero-dimensional tensor a sample for advantages, a list of
tensors a prompt for novelty, a slice a prefix for mean entropies. Row sums are held against one copy of the
vectors from memory into the order of groups. Results agree to 1e-6.
"""

import argparse
import time
from collections import defaultdict, deque

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from rdiverse_verl.algorithms.answer_memory import AnswerMemory
from rdiverse_verl.algorithms.dra import dra_weights
from rdiverse_verl.algorithms.group_norm import normalise_in_groups
from rdiverse_verl.algorithms.groups import group_by_key
from rdiverse_verl.algorithms.novelty import embedding_novelty
from rdiverse_verl.algorithms.prefix_entropy import prefix_mean_entropies
from rdiverse_verl.embedding import LengthAwareEncoder, load_encoder

MEMORY = 6
ROLLOUTS, TOKENS, PREFIXES = 1200, 2048, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=512)
    parser.add_argument("--group", type=int, nargs="+", default=[6, 32])
    parser.add_argument("--dim", type=int, default=384)
    given = parser.parse_args()
    for group in given.group:
        print(f"{given.prompts} prompts x {group}")
        keys = [f"u{row % given.prompts}_{row // given.prompts}_0" for row in range(given.prompts * group)]
        grouping_s, groups = timed(lambda keys=keys: group_by_key(keys))
        print(f"  grouping, once a step: {grouping_s * 1e3:.1f} ms")
        compare_advantages(keys, groups)
        compare_novelty(keys, groups, given.dim)
        compare_row_sums(groups, len(keys), given.dim)
    compare_prefix_entropies()
    compare_prefix_vectors()


def compare_advantages(keys, groups) -> None:
    reward_N = np.random.default_rng(0).integers(0, 2, size=len(keys)).astype(np.float32)
    fast_s, fast_N = timed(lambda: normalise_in_groups(reward_N, groups))
    uids = [key.rsplit("_", 2)[0] for key in keys]
    slow_s, slow_N = timed(lambda: advantages_one_by_one(torch.tensor(reward_N), uids), repeats=1)
    report("advantages", fast_s, slow_s, fast_N, slow_N.numpy())


def advantages_one_by_one(score_N: torch.Tensor, uids: list[str]) -> torch.Tensor:
    of_uid = defaultdict(list)
    for row, uid in enumerate(uids):
        of_uid[uid].append(score_N[row])
    mean = {uid: torch.stack(scores).mean() for uid, scores in of_uid.items()}
    std = {uid: torch.stack(scores).std() for uid, scores in of_uid.items()}
    advantage_N = score_N.clone()
    for row, uid in enumerate(uids):
        advantage_N[row] = (score_N[row] - mean[uid]) / (std[uid] + 1e-6)
    return advantage_N


def compare_novelty(keys, groups, dim: int) -> None:
    rng = np.random.default_rng(1)
    emb_N_D = near_a_direction(rng, (len(keys), dim))
    correct_N = rng.random(len(keys)) < 0.5
    everybody_N = np.ones(len(keys), dtype=bool)
    uids = [key.rsplit("_", 2)[0] for key in keys]
    roots = [uids[row] for row in groups.leader_B]
    earlier_B_M_D = near_a_direction(rng, (len(roots), MEMORY, dim))
    ours = AnswerMemory(MEMORY, np.float32)  # exact, to compare
    for root, earlier_M_D in zip(roots, earlier_B_M_D, strict=True):
        ours.add(root, earlier_M_D)
    theirs = {root: deque(torch.tensor(rows), maxlen=MEMORY) for root, rows in zip(roots, earlier_B_M_D, strict=True)}

    def fast() -> np.ndarray:
        return embedding_novelty(emb_N_D, correct_N, everybody_N, groups, *ours.vectors(roots, dim))

    fast_s, fast_N = timed(fast)
    slow_s, slow_N = timed(lambda: novelty_one_by_one(torch.tensor(emb_N_D), correct_N, uids, theirs), repeats=1)
    report("novelty, with reading the memory", fast_s, slow_s, fast_N, slow_N)


def novelty_one_by_one(emb_N_D, correct_N, uids, memory) -> np.ndarray:
    novelty_N = torch.zeros(len(uids))
    of_uid = defaultdict(list)
    for row, uid in enumerate(uids):
        of_uid[uid].append((row, emb_N_D[row]))
    for uid, items in of_uid.items():
        rows = [row for row, _ in items]
        new_G_D = torch.stack([vector for _, vector in items])
        pool_P_D = torch.cat([torch.stack(list(memory[uid])), new_G_D])
        known = len(memory[uid])
        cos_G_P = F.normalize(new_G_D, dim=1) @ F.normalize(pool_P_D, dim=1).T
        in_pool_G_P = torch.ones_like(cos_G_P, dtype=torch.bool)
        in_pool_G_P[:, known:] = torch.tensor(correct_N[rows])
        in_pool_G_P[torch.arange(len(rows)), known + torch.arange(len(rows))] = False
        nearest_G = cos_G_P.masked_fill(~in_pool_G_P, -torch.inf).max(dim=1).values
        novelty_N[rows] = torch.clamp(1 - nearest_G, min=0) * torch.tensor(correct_N[rows])
        for row, vector in items:
            if correct_N[row]:
                memory[uid].append(vector.detach().float().cpu())
    return novelty_N.numpy()


def compare_row_sums(groups, rows: int, dim: int) -> None:
    emb_N_D = near_a_direction(np.random.default_rng(2), (rows, dim))
    everybody_N = np.ones(rows, dtype=bool)
    copy_s, _ = timed(lambda: emb_N_D[groups.member_G_B], cold=True)  # the rows of a group stand anywhere
    reference_N = row_sums_in_groups(emb_N_D, groups)
    for kernel in ("raw", "clamp"):
        fast_s, weight_N = timed(
            lambda kernel=kernel: dra_weights(emb_N_D, groups, everybody_N, kernel=kernel), cold=True
        )
        error = np.abs(1 / weight_N / reference_N - 1).max()
        print(
            f"  DRA weights, {kernel}: {fast_s * 1e3:.1f} ms = {fast_s / copy_s:.1f} x a copy, "
            f"relative error {error:.0e}"
        )


def row_sums_in_groups(emb_N_D, groups) -> np.ndarray:
    emb_G_B_D = emb_N_D.astype(np.float64)[groups.member_G_B]
    return groups.scatter(np.einsum("gbd,bd->gb", emb_G_B_D, emb_G_B_D.sum(axis=0)))


def compare_prefix_entropies() -> None:
    rng = np.random.default_rng(3)
    length_N = rng.integers(TOKENS // 2, TOKENS, size=ROLLOUTS)
    entropy_T = rng.gamma(1.0, 0.4, size=length_N.sum()).astype(np.float32)
    row_P = np.repeat(np.arange(ROLLOUTS), PREFIXES)
    cut_P = (length_N[row_P] * rng.uniform(0.05, 0.8, size=len(row_P))).astype(np.int64)
    mask_T = np.ones(len(entropy_T), dtype=bool)
    fast_s, fast_P = timed(lambda: prefix_mean_entropies(entropy_T, mask_T, length_N, row_P, cut_P))
    entropy_N_T = pad_sequence(torch.split(torch.tensor(entropy_T), length_N.tolist()), batch_first=True)
    prefixes = list(zip(row_P.tolist(), cut_P.tolist(), strict=True))
    slow_s, slow_P = timed(lambda: [entropy_N_T[row, :cut].mean().item() for row, cut in prefixes], repeats=1)
    print(f"{ROLLOUTS} rollouts x {PREFIXES} prefixes")
    report("prefix entropies", fast_s, slow_s, fast_P, np.array(slow_P))


def compare_prefix_vectors() -> None:
    """Seconds of MiniLM for all prefixes of one rollout, against one pass over the whole."""
    steps = [f"Step {i}: {i} times {7 * i} is {7 * i * i}, which we add to the sum of before.\n\n" for i in range(60)]
    text, ends = "".join(steps), np.cumsum([len(step) for step in steps])[3::4].tolist()

    def seconds(work) -> float:
        encoder = LengthAwareEncoder(load_encoder("all-MiniLM-L6-v2"))  # a fresh one: nothing in its cache
        encoder.encode(["warm"])
        return timed(lambda: work(encoder), repeats=1)[0]

    whole_s = seconds(lambda encoder: encoder.encode([text]))
    prefixes_s = seconds(lambda encoder: encoder.encode_prefixes([text], [ends]))
    print(f"vectors of {len(ends)} prefixes: {prefixes_s * 1e3:.0f} ms = {prefixes_s / whole_s:.1f} x one pass")


def report(name: str, fast_s: float, slow_s: float, fast: np.ndarray, slow: np.ndarray) -> None:
    error = np.abs(fast - slow).max()
    print(f"  {name}: {fast_s * 1e3:.2f} ms, loop {slow_s * 1e3:.0f} ms, {slow_s / fast_s:.0f} x, error {error:.0e}")


def near_a_direction(rng, shape) -> np.ndarray:
    """Unit rows with cosines around 0.5, as answers to one prompt have."""
    rows = rng.normal(size=shape) + 1
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def timed(work, repeats: int = 5, cold: bool = False):
    """Best seconds of some runs, and the result; cold ones begin with nothing of theirs in the caches."""
    large, seconds = np.ones(1 << 25 if cold else 1), []
    for _ in range(repeats):
        large += 1
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


if __name__ == "__main__":
    main()
