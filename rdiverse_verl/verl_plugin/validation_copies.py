"""Copies of a prompt in a validation set, numbered: with equal seeds they would get equal samples."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rdiverse_verl.verl_plugin.row_fields import COPY


class NumberedCopies:
    """verl's validation loader; copies of a prompt are numbered, as equal seeds would give them equal samples."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        seen: Counter[str] = Counter()
        for batch in self._loader:
            numbers = []
            for prompt in batch["raw_prompt"]:
                text = json.dumps(list(prompt))
                numbers.append(seen[text])
                seen[text] += 1
            yield {**batch, COPY: np.array(numbers, dtype=object)}
