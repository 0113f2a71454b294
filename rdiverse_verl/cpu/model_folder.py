"""The check of a model folder that needs no heavy import, so that a wrong path is said at once."""

from pathlib import Path

from rdiverse_verl.errors import ConfigError


def check_model_folder(path: Path) -> None:
    """Raise ConfigError unless ``path`` is a folder in which Transformers would look for a model."""
    if not path.is_dir():
        raise ConfigError(f"model folder {path} does not exist")
    if not (path / "config.json").is_file():
        raise ConfigError(f"{path} is not a model folder: it has no config.json")
