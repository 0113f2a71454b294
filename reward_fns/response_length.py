"""How many tokens a response has. verl's stock managers do not tell a reward function, so it is counted here."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rdiverse_verl.errors import ConfigError

_REMEDY = (
    "add +reward.custom_reward_function.reward_kwargs.tokenizer=<folder of the policy's tokenizer>, "
    "or use a reward manager that puts response_length in extra_info"
)


def count_tokens(solution_str: str, extra_info: Mapping[str, Any] | None, tokenizer: str | None) -> int:
    """The response's length in tokens.

    ``extra_info.response_length``, which a reward manager of ours writes, is exact. Otherwise the decoded text is
    encoded again with ``tokenizer`` (a local folder or a cached name), which leaves out the end-of-turn token.

    Raises:
        ConfigError: neither is there, or the tokenizer cannot be loaded.
    """
    length = (extra_info or {}).get("response_length")
    if length is not None:
        return int(length)
    if tokenizer is None:
        raise ConfigError(f"a length-based reward cannot count tokens: {_REMEDY}")
    return len(_load(tokenizer).encode(solution_str, add_special_tokens=False))


@lru_cache(maxsize=2)
def _load(tokenizer: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise ConfigError(f"reward_kwargs.tokenizer: {tokenizer} is no tokenizer ({error}); {_REMEDY}") from error
