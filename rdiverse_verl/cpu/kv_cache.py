"""Keys and values of a changing set of requests, each at its own length, without padding between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache


class SlotCache(Cache):
    """One slot a request: position p of the request in slot r lies at ``[r, :, p]`` in every layer.

    Slots 0..n-1 are the n running requests. A forward pass is announced by ``place``; the model then writes its new
    keys and values through ``update`` and reads all of the rows' positions back, without a copy. Storage grows by
    doubling.
    """

    def __init__(self, n_layers: int) -> None:
        super().__init__(layers=[])
        self._keys: list[Tensor] = [torch.empty(0)] * n_layers
        self._values: list[Tensor] = [torch.empty(0)] * n_layers
        self._slots_R = torch.empty(0, dtype=torch.long)
        self._positions_R_S = torch.empty(0, 0, dtype=torch.long)

    def place(self, first_slot: int, starts_R: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Announce ``width`` new tokens for each of R slots from ``first_slot`` on, beginning at position ``starts_R``.

        Returns:
            Position ids [R, S] and the causal mask [R, 1, S, L] (True: visible) over the L positions read back.
        """
        self._slots_R = torch.arange(first_slot, first_slot + len(starts_R))
        self._positions_R_S = starts_R[:, None] + torch.arange(width)
        length = int(starts_R.max()) + width
        visible = torch.arange(length) <= self._positions_R_S[:, None, :, None]
        return self._positions_R_S, visible

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store new keys and values [R, heads, S, dim]; return the rows' views [R, heads, L, dim]."""
        return (
            self._store(self._keys, key_states, layer_idx),
            self._store(self._values, value_states, layer_idx),
        )

    def keep(self, slots: Sequence[int]) -> None:
        """Close the gaps that finished requests left: ``slots`` (increasing) become slots 0..len-1."""
        if not slots:
            return
        index = torch.tensor(slots)
        for storage in (*self._keys, *self._values):
            storage[: len(slots)] = storage[index]

    def clear(self) -> None:
        """Forget everything and free the storage."""
        self.__init__(len(self._keys))  # type: ignore[misc]

    def _store(self, storages: list[Tensor], new_R_H_S_D: Tensor, layer: int) -> Tensor:
        first, last = int(self._slots_R[0]), int(self._slots_R[-1])
        length = int(self._positions_R_S.max()) + 1
        storage = storages[layer] = _grown(storages[layer], last + 1, length, new_R_H_S_D)
        storage[self._slots_R[:, None], :, self._positions_R_S] = new_R_H_S_D.transpose(1, 2)
        return storage[first : last + 1, :, :length]


def _grown(storage: Tensor, slots: int, length: int, like_R_H_S_D: Tensor) -> Tensor:
    """The storage [slots, heads, length, dim], larger if it was too small. New room is 0: a masked NaN would spread."""
    have_slots, have_length = (storage.shape[0], storage.shape[2]) if storage.ndim == 4 else (0, 0)
    if slots <= have_slots and length <= have_length:
        return storage
    _, heads, _, dim = like_R_H_S_D.shape
    new_slots = have_slots if slots <= have_slots else max(slots, 2 * have_slots)
    new_length = have_length if length <= have_length else max(length, 2 * have_length)
    larger = like_R_H_S_D.new_zeros(new_slots, heads, new_length, dim)
    if storage.ndim == 4:
        larger[:have_slots, :, :have_length] = storage
    return larger
