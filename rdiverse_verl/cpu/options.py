"""What a caller may ask of a generation, and the refusal of everything else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rdiverse_verl.errors import ConfigError

# Options of vLLM and OpenAI that are not built here: accepted only with the value that switches them off.
_NEUTRAL_VALUES: dict[str, tuple[Any, ...]] = {
    "presence_penalty": (0, None),
    "frequency_penalty": (0, None),
    "repetition_penalty": (1, None),
    "min_p": (0, None),
    "min_tokens": (0, None),
    "n": (1, None),
    "best_of": (1, None),
    "use_beam_search": (False, None),
    "logit_bias": ({}, None),
    "prompt_logprobs": (None,),
}


MIN_TEMPERATURE = 1e-3  # logits divided by much less leave the range of floats


@dataclass(frozen=True)
class SamplingOptions:
    """How one reply is sampled.

    ``temperature`` 0 is greedy. ``top_p`` 1 and ``top_k`` -1 or 0 keep the whole vocabulary. ``max_tokens`` None means
    whatever the context still holds. ``seed`` None lets the engine choose one. Generation ends at the model's
    end-of-sequence ids (unless ``ignore_eos``), at ``stop_token_ids`` and when the text holds one of ``stop``; what
    ended it is part of the reply's tokens.

    Raises:
        ConfigError: a value is of the wrong type or out of range.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    max_tokens: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        self._require(
            "temperature",
            _is_number(self.temperature) and (self.temperature == 0 or self.temperature >= MIN_TEMPERATURE),
            "0, or a number >= 0.001",
        )
        self._require("top_p", _is_number(self.top_p) and 0 < self.top_p <= 1, "a number in (0, 1]")
        self._require("top_k", _is_int(self.top_k) and -1 <= self.top_k < 2**31, "an integer in [-1, 2**31)")
        self._require(
            "max_tokens",
            self.max_tokens is None or (_is_int(self.max_tokens) and self.max_tokens >= 1),
            "an integer >= 1",
        )
        self._require(
            "seed", self.seed is None or (_is_int(self.seed) and 0 <= self.seed < 2**64), "an integer in [0, 2**64)"
        )
        self._require("stop_token_ids", all(map(_is_int, self.stop_token_ids)), "a list of token ids")
        self._require("stop", all(map(_is_text, self.stop)), "a non-empty string or a list of them")
        self._require("ignore_eos", isinstance(self.ignore_eos, bool), "true or false")

    def _require(self, name: str, holds: bool, expected: str) -> None:
        if not holds:
            raise ConfigError(f"sampling option {name}={getattr(self, name)!r}: must be {expected}")

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> SamplingOptions:
        """Read options under the names vLLM and OpenAI give them; None stands for the default.

        Raises:
            ConfigError: an option is unknown, or asks for something this engine does not do.
        """
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {}
        for name, value in options.items():
            if name in known:
                if value is not None:
                    given[name] = value
            elif name not in _NEUTRAL_VALUES:
                raise ConfigError(f"sampling option {name!r} is not supported: remove it")
            elif value not in _NEUTRAL_VALUES[name]:
                neutral = _NEUTRAL_VALUES[name][0]
                raise ConfigError(f"sampling option {name}={value!r} is not supported: only {neutral} is")
        if isinstance(given.get("stop"), str):
            given["stop"] = [given["stop"]]
        for name in ("stop", "stop_token_ids"):
            if name in given:
                if not isinstance(given[name], (list, tuple)):
                    raise ConfigError(f"sampling option {name}={given[name]!r}: must be a list")
                given[name] = tuple(given[name])
        return cls(**given)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.encode("utf-8", "replace").decode() == value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
