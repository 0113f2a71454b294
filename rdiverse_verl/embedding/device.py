"""The device that an encoder is given, and how many texts it holds at a time."""

from typing import Any

from rdiverse_verl.errors import ConfigError

_ACTIVATIONS_PER_LAYER = 24  # float32 vectors of hidden size alive at once per token, in a layer's widest part
_SHARE = 0.5  # of the free memory: the rest is for who shares the device
_MOST = 512


def check_device(device: str) -> None:
    """Raise ConfigError unless torch can put a model on `device` ("cpu", "cuda:1", ...)."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        there = f"{torch.cuda.device_count()} CUDA devices visible"
        raise ConfigError(
            f"an encoder cannot go to device {device!r} ({there}): {str(error).splitlines()[0]}"
        ) from error


def texts_per_call(device: str) -> int:
    """How many texts to encode before their callers are answered: one on a CPU, where company saves no time."""
    return 1024 if device.startswith("cuda") else 1


def texts_per_batch(device: str, tokens: int, model_config: Any) -> int:
    """How many texts of `tokens` tokens to encode at a time: 1 on a CPU, where a batch changes a vector's last bits."""
    import torch

    if torch.device(device).type != "cuda":
        return 1
    free, _ = torch.cuda.mem_get_info(device)
    per_token = 4 * (_ACTIVATIONS_PER_LAYER * model_config.hidden_size + 2 * model_config.num_attention_heads * tokens)
    return int(min(max(_SHARE * free // (per_token * tokens), 1), _MOST))
