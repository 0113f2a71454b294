"""Find what cannot work before anything expensive starts."""

import json
from importlib.util import find_spec
from pathlib import Path

from rdiverse_verl.dataset import read_rows
from rdiverse_verl.errors import ConfigError
from rdiverse_verl.selfplay.settings import SelfPlay
from rdiverse_verl.selfplay.verl_config import check_keys
from rdiverse_verl.selfplay.work import evaluation_data, locate


def preflight(settings: SelfPlay) -> None:
    """Raises ConfigError or DataError with what is wrong, where, and what to do."""
    for module in ("verl", "vllm") if settings.serving.engine == "vllm" else ("verl",):
        if find_spec(module) is None:
            raise ConfigError(f"{module} is not installed; install 'rdiverse-verl[{settings.platform}]'")
    check_model(locate(settings.base_model, "base_model"), "base_model")
    if settings.coder.url is None:
        check_model(locate(settings.coder.model, "coder.model"), "coder.model")
    read_rows(evaluation_data(settings))
    for source, tree in (
        ("verl", settings.verl),
        ("challenger.verl", settings.challenger.verl),
        ("solver.verl", settings.solver.verl),
    ):
        check_keys(tree, source)


def check_model(model: str, key: str) -> None:
    """A local folder must hold a model, and a tokenizer with a chat template. Hub names are checked when loaded."""
    folder = Path(model)
    if not folder.exists() and not _looks_like_a_hub_name(model):
        raise ConfigError(f"{key}: there is no folder {model}")
    if not folder.exists():
        return
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{key}: {model} is no Hugging Face model folder (no config.json)")
    tokenizer = folder / "tokenizer_config.json"
    if not tokenizer.is_file():
        raise ConfigError(f"{key}: {model} has no tokenizer (no tokenizer_config.json)")
    if not (folder / "chat_template.jinja").is_file() and not json.loads(tokenizer.read_text()).get("chat_template"):
        raise ConfigError(f"{key}: the tokenizer in {model} has no chat template, which every role's prompt needs")


def _looks_like_a_hub_name(model: str) -> bool:
    return model.count("/") == 1 and not model.startswith((".", "/", "~"))
