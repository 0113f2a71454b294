"""OpenAI's request and reply bodies, to and from what the engine speaks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.request import Completion
from rdiverse_verl.errors import ConfigError
from rdiverse_verl.seeds import derive_seed

_COMPLETION_MAX_TOKENS = 16  # OpenAI's default for /v1/completions; chat has none
_NEUTRAL_VALUES: dict[str, tuple[Any, ...]] = {
    "stream": (False, None),
    "top_logprobs": (0, None),
    "echo": (False, None),
    "suffix": ("", None),
}


@dataclass(frozen=True)
class ApiRequest:
    """Prompts as token ids, and ``n`` samples wanted of each."""

    prompts: list[list[int]]
    options: SamplingOptions
    n: int
    logprobs: bool

    def samples(self) -> list[tuple[list[int], SamplingOptions]]:
        """Every sample to draw, prompt by prompt. Sample j has the seed ``derive_seed(seed, j)``, if there is one."""
        seed = self.options.seed
        by_index = [
            self.options if seed is None else replace(self.options, seed=derive_seed(seed, j)) for j in range(self.n)
        ]
        return [(prompt, options) for prompt in self.prompts for options in by_index]


def read_chat(body: Mapping[str, Any], tokenizer: Any) -> ApiRequest:
    """The body of /v1/chat/completions.

    Raises:
        ConfigError: a field is unknown, missing or of the wrong kind.
    """
    fields = dict(body)
    messages = fields.pop("messages", None)
    if not isinstance(messages, list) or not messages or not all(map(_is_text_message, messages)):
        raise ConfigError("field 'messages': must be a list of {role, content}, both text")
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    logprobs = fields.pop("logprobs", None)
    if logprobs not in (True, False, None):
        raise ConfigError(f"field logprobs={logprobs!r}: must be true or false")
    return _request([_encode(tokenizer, prompt, special=False)], fields, bool(logprobs))


def read_completion(body: Mapping[str, Any], tokenizer: Any) -> ApiRequest:
    """The body of /v1/completions; ``prompt`` is text, token ids, or a list of either.

    Raises:
        ConfigError: a field is unknown, missing or of the wrong kind.
    """
    fields = dict(body)
    prompt = fields.pop("prompt", None)
    several = isinstance(prompt, list) and bool(prompt) and all(isinstance(part, (str, list)) for part in prompt)
    prompts = [
        _encode(tokenizer, part, special=True) if isinstance(part, str) else part
        for part in (prompt if several else [prompt])
    ]
    if not all(isinstance(part, list) and all(type(token) is int for token in part) for part in prompts):
        raise ConfigError("field 'prompt': must be text, a list of token ids, or a list of either")
    logprobs = fields.pop("logprobs", None)
    if logprobs not in (0, None) or isinstance(logprobs, bool):
        raise ConfigError(f"field logprobs={logprobs!r}: must be 0, the sampled token's own, or left out")
    if fields.get("max_tokens") is None:
        fields["max_tokens"] = _COMPLETION_MAX_TOKENS
    return _request(prompts, fields, logprobs == 0)


def chat_reply(request: ApiRequest, completions: list[Completion], tokenizer: Any, model: str) -> dict[str, Any]:
    """The body that answers /v1/chat/completions."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": _text(completion, tokenizer)},
            "finish_reason": completion.finish_reason,
            "logprobs": {"content": _token_entries(completion, tokenizer)} if request.logprobs else None,
        }
        for index, completion in enumerate(completions)
    ]
    return _reply("chat.completion", choices, request, completions, model)


def completion_reply(request: ApiRequest, completions: list[Completion], tokenizer: Any, model: str) -> dict[str, Any]:
    """The body that answers /v1/completions."""
    choices = [
        {
            "index": index,
            "text": _text(completion, tokenizer),
            "finish_reason": completion.finish_reason,
            "logprobs": _token_columns(completion, tokenizer) if request.logprobs else None,
        }
        for index, completion in enumerate(completions)
    ]
    return _reply("text_completion", choices, request, completions, model)


MOST_SAMPLES = 4096  # of one request: all are queued at once, while nobody else is answered


def _request(prompts: list[list[int]], fields: dict[str, Any], logprobs: bool) -> ApiRequest:
    fields.pop("model", None)
    fields.pop("user", None)
    for name, neutral in _NEUTRAL_VALUES.items():
        if (value := fields.pop(name, None)) not in neutral:
            raise ConfigError(f"field {name}={value!r} is not supported: remove it")
    n = fields.pop("n", None)
    n = 1 if n is None else n
    if type(n) is not int or not 1 <= n * len(prompts) <= MOST_SAMPLES:
        raise ConfigError(f"field n={n!r}: must be an integer >= 1, and n times the prompts at most {MOST_SAMPLES}")
    most = fields.pop("max_completion_tokens", None)
    if most is not None:
        fields["max_tokens"] = most
    return ApiRequest(prompts, SamplingOptions.parse(fields), n, logprobs)


def _is_text_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and set(message) == {"role", "content"}
        and all(isinstance(value, str) for value in message.values())
    )


def _encode(tokenizer: Any, text: str, *, special: bool) -> list[int]:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(f"the text is no Unicode: half of a surrogate pair at character {error.start}") from error
    return tokenizer.encode(text, add_special_tokens=special)


def _text(completion: Completion, tokenizer: Any) -> str:
    text = tokenizer.decode(completion.token_ids, skip_special_tokens=True)
    return text if completion.stop_string is None else text.split(completion.stop_string)[0]


def _token_entries(completion: Completion, tokenizer: Any) -> list[dict[str, Any]]:
    texts = [tokenizer.decode([token]) for token in completion.token_ids]
    return [
        {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": []}
        for text, logprob in zip(texts, completion.logprobs, strict=True)
    ]


def _token_columns(completion: Completion, tokenizer: Any) -> dict[str, Any]:
    texts = [tokenizer.decode([token]) for token in completion.token_ids]
    offsets = [sum(map(len, texts[:i])) for i in range(len(texts))]
    return {"tokens": texts, "token_logprobs": completion.logprobs, "top_logprobs": None, "text_offset": offsets}


def _reply(
    kind: str, choices: list[dict[str, Any]], request: ApiRequest, completions: list[Completion], model: str
) -> dict[str, Any]:
    prompt_tokens = sum(map(len, request.prompts))
    completion_tokens = sum(len(completion.token_ids) for completion in completions)
    return {
        "id": f"{kind}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
        "choices": choices,
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }
