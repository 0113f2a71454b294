"""How new each correct answer is, by the signal that is configured, and the memory it is compared with (ExTra)."""

from typing import Any

import numpy as np
import transfer_queue as tq
from transfer_queue import KVBatchMeta

from rdiverse_verl.algorithms.answer_memory import AnswerMemory
from rdiverse_verl.algorithms.ngram_novelty import ngram_novelty
from rdiverse_verl.algorithms.novelty import embedding_novelty
from rdiverse_verl.algorithms.surprise_novelty import surprise_novelty
from rdiverse_verl.verl_plugin.prompt_rows import read_prefix
from rdiverse_verl.verl_plugin.scored_rows import ScoredRows
from rdiverse_verl.verl_plugin.settings import Extra


class NoveltySignal:
    """ExTra's bonus (Eq. 1, Tab. 6) with M_r, which takes the correct answers of a step once all are scored."""

    def __init__(self, extra: Extra) -> None:
        self.extra = extra
        self.memory = AnswerMemory(extra.memory, np.int32 if extra.novelty == "ngram" else np.float16)

    def score(self, batch: KVBatchMeta, rows: ScoredRows) -> np.ndarray:
        """novelty_N of the batch; it is then part of the memory."""
        if self.extra.gamma == 0:
            return np.zeros(len(rows.keys))
        return getattr(self, f"_{self.extra.novelty}")(batch, rows)

    def _embedding(self, batch: KVBatchMeta, rows: ScoredRows) -> np.ndarray:
        roots_B = [rows.root_N[row] for row in rows.groups.leader_B]
        memory_B_M_D, remembered_B_M = self.memory.vectors(roots_B, rows.emb_N_D.shape[1])
        novelty_N = embedding_novelty(
            rows.emb_N_D,
            rows.correct_N,
            rows.has_vector_N,
            rows.groups,
            memory_B_M_D,
            remembered_B_M,
            empty_pool_value=self.extra.empty_pool_value,
        )
        self._remember(rows, rows.correct_N & rows.has_vector_N, rows.emb_N_D)
        return novelty_N

    def _ngram(self, batch: KVBatchMeta, rows: ScoredRows) -> np.ndarray:
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["responses"])
        tokens_N = [
            np.concatenate([np.array(read_prefix(prefix)[0], dtype=np.int64), response.numpy()])
            for prefix, response in zip(rows.prefix_N, data["responses"].unbind(), strict=True)
        ]
        memory_B = [self.memory.get(rows.root_N[row]) for row in rows.groups.leader_B]
        novelty_N = ngram_novelty(tokens_N, rows.correct_N, rows.groups, memory_B, n=self.extra.ngram)
        self._remember(rows, rows.correct_N, tokens_N)
        return novelty_N

    def _surprise(self, batch: KVBatchMeta, rows: ScoredRows) -> np.ndarray:
        fields = ["old_log_probs", "response_mask"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        log_prob_N = np.zeros(len(rows.keys))
        for i, (log_probs, mask) in enumerate(
            zip(data["old_log_probs"].unbind(), data["response_mask"].unbind(), strict=True)
        ):
            log_prob_N[i] = float((log_probs * mask).sum() / mask.sum().clamp(min=1))
        return surprise_novelty(log_prob_N, rows.correct_N, rows.groups)

    def _remember(self, rows: ScoredRows, keep_N: np.ndarray, values_N: Any) -> None:
        kept = rows.groups.restrict(keep_N)
        for members_G in kept.member_G_B.T:
            members = members_G[members_G >= 0]
            if len(members):
                self.memory.add(rows.root_N[members[0]], [values_N[row] for row in members])
