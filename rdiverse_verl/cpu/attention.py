"""Attention for one new token a request, without copying the cache once per query head."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

GROUPED_DECODE = "grouped_decode"


def grouped_decode_attention(
    module: nn.Module,
    query_R_H_S_D: Tensor,
    key_R_K_L_D: Tensor,
    value_R_K_L_D: Tensor,
    visible_R_1_S_L: Tensor,
    scaling: float,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Softmax attention of H query heads over K key heads; for S > 1 it is Transformers' ``sdpa``.

    ``sdpa`` on a CPU repeats keys and values for each of the H / K query heads that share them, and its kernel is made
    for many queries. With one query a request, the query heads of a key head take the place of the positions instead.
    """
    requests, heads, width, dim = query_R_H_S_D.shape
    if width > 1:
        return sdpa_attention_forward(
            module, query_R_H_S_D, key_R_K_L_D, value_R_K_L_D, visible_R_1_S_L, scaling=scaling, **kwargs
        )
    query_R_K_G_D = query_R_H_S_D.reshape(requests, key_R_K_L_D.shape[1], -1, dim)
    scores_R_K_G_L = (query_R_K_G_D * scaling) @ key_R_K_L_D.transpose(-1, -2)
    weights_R_K_G_L = scores_R_K_G_L.masked_fill_(~visible_R_1_S_L, float("-inf")).softmax(dim=-1)
    return (weights_R_K_G_L @ value_R_K_L_D).reshape(requests, 1, heads, dim), None


AttentionInterface.register(GROUPED_DECODE, grouped_decode_attention)
