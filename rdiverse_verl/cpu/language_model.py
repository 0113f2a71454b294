"""A causal language model from a Transformers folder, computing in one chosen precision throughout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rdiverse_verl.cpu.attention import GROUPED_DECODE
from rdiverse_verl.cpu.kv_cache import SlotCache
from rdiverse_verl.cpu.lean_transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from rdiverse_verl.cpu.model_folder import check_model_folder
from rdiverse_verl.errors import ConfigError


class LanguageModel:
    """Weights, tokenizer and key-value cache of one model. Its methods are called in ``torch.inference_mode``.

    Raises:
        ConfigError: the folder is missing, holds no complete model or tokenizer, or needs attention other than full.
    """

    def __init__(self, path: str | Path, dtype: torch.dtype) -> None:
        self.path = Path(path)
        self.tokenizer, self._model = _load(self.path, dtype)
        _keep_norms_in(self._model, dtype)
        self.config = self._model.config
        self.cache = SlotCache(self.config.num_hidden_layers)
        self.eos_token_ids = frozenset(
            _as_ids(self.tokenizer.eos_token_id) + _as_ids(self._model.generation_config.eos_token_id)
        )

    def next_logits(self, first_slot: int, starts_R: Tensor, tokens: list[list[int]]) -> Tensor:
        """Run new tokens of R requests, which may differ in number, and return the logits [R, V] after each one's last.

        Args:
            first_slot: slot of the first request; the others follow.
            starts_R: position of each request's first new token.
            tokens: the new tokens of each request.
        """
        last_R = torch.tensor([len(row) - 1 for row in tokens])
        width = int(last_R.max()) + 1
        # Filler right of a shorter row's last token: no earlier token sees it, and the row's next tokens overwrite it.
        tokens_R_S = torch.tensor([row + [0] * (width - len(row)) for row in tokens])
        positions_R_S, visible = self.cache.place(first_slot, starts_R, width)
        wanted, column_R = last_R.unique(return_inverse=True)
        output = self._model(
            input_ids=tokens_R_S,
            attention_mask=visible,
            position_ids=positions_R_S,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=wanted,
        )
        return output.logits[torch.arange(len(tokens)), column_R]

    def load_state(self, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
        """Replace all weights. Names are those of the model's state dict; a tied weight may be left out.

        Raises:
            ConfigError: a name is unknown, missing or given twice, or a shape differs; nothing is changed then.
        """
        state = self._model.state_dict()
        new: dict[str, Tensor] = {}
        for name, tensor in named_tensors:
            if name not in state:
                raise ConfigError(f"weight update: the model at {self.path} has no tensor named {name!r}")
            if name in new:
                raise ConfigError(f"weight update: tensor {name!r} was sent twice")
            if tensor.shape != state[name].shape:
                raise ConfigError(
                    f"weight update: tensor {name!r} has shape {tuple(tensor.shape)}, "
                    f"the model at {self.path} needs {tuple(state[name].shape)}"
                )
            new[name] = tensor
        missing = [name for name, _ in self._model.named_parameters() if name not in new]
        if missing:
            raise ConfigError(f"weight update: {len(missing)} tensors were not sent, the first is {missing[0]!r}")
        for name, tensor in new.items():
            state[name].copy_(tensor)
        self.cache.clear()


def _load(path: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """The tokenizer and the model at ``path``."""
    check_model_folder(path)
    try:
        config = AutoConfig.from_pretrained(path, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        unsupported = set(getattr(config, "layer_types", None) or ["full_attention"]) - {"full_attention"}
        if unsupported:
            raise ConfigError(f"model {path} uses {sorted(unsupported)}: only full attention is supported")
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path,
            config=config,
            dtype=dtype,
            attn_implementation=GROUPED_DECODE,
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"cannot load a model from {path}: {str(error).splitlines()[0]}") from error
    model, report = loaded
    if report["missing_keys"]:
        raise ConfigError(f"model {path} lacks weights, the first is {min(report['missing_keys'])!r}")
    return tokenizer, model.eval()


def _keep_norms_in(model: nn.Module, dtype: torch.dtype) -> None:
    """Let RMS norms compute in float64 too.

    Transformers writes them for half precision and always goes through float32. Under float64 that would round every
    layer's input to 24 bits, and now and then two batches would round to different sides.
    """
    if dtype != torch.float64:
        return
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__.endswith("RMSNorm") and hasattr(child, "variance_epsilon"):
                norm = nn.RMSNorm(child.weight.shape, eps=child.variance_epsilon, dtype=dtype)  # type: ignore[union-attr,arg-type]
                norm.weight = child.weight  # type: ignore[assignment]
                setattr(parent, name, norm)


def _as_ids(ids: int | list[int] | None) -> list[int]:
    if ids is None:
        return []
    return [ids] if isinstance(ids, int) else list(ids)
