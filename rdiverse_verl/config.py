"""Typed settings: one home and one default for every key, and errors that name the nearest key for an unknown one."""

import difflib
from pathlib import Path
from typing import Any, TypeVar, get_args

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, ValidationError

from rdiverse_verl.errors import ConfigError


class Settings(BaseModel):
    """Base of every settings block: frozen, and closed against unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


S = TypeVar("S", bound=Settings)


def load_settings(schema: type[S], path: Path, overrides: list[str] | None = None) -> S:
    """Read a YAML file, apply ``key.sub=value`` overrides, and validate.

    Raises:
        ConfigError: the file is missing or no YAML, an override is no assignment, a key is unknown or a value is wrong.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such configuration file")
    for item in overrides or []:
        if "=" not in item:
            raise ConfigError(f"override {item!r} is not of the form key=value")
    try:
        merged = OmegaConf.merge(OmegaConf.load(path), OmegaConf.from_dotlist(overrides or []))
        values = OmegaConf.to_container(merged, resolve=True)
    except (OmegaConfBaseException, OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except Exception as error:  # YAML's own errors share no base with OmegaConf's
        raise ConfigError(f"{path}: not a YAML file: {error}") from error
    return parse_settings(schema, values, source=str(path))


def parse_settings(schema: type[S], values: Any, source: str) -> S:
    """Validate plain values; every problem becomes one line that names ``source`` and the key."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        problems = "\n".join(f"{source}: {_explain(schema, problem)}" for problem in error.errors())
        raise ConfigError(problems) from error


def _explain(schema: type[BaseModel], problem: Any) -> str:
    keys = [str(part) for part in problem["loc"]]
    name = ".".join(keys) or "the whole file"
    if problem["type"] != "extra_forbidden":
        return f"{name}: {problem['msg']} (got {problem['input']!r})"
    return f"unknown key {name!r}{nearest(keys[-1], _known_keys(schema, keys[:-1]))}"


def nearest(key: str, known: list[str]) -> str:
    """A hint for an unknown key: the nearest known one, or the whole list."""
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known here: {', '.join(known)}"


def _known_keys(schema: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        annotation = schema.model_fields[part].annotation if part in schema.model_fields else None
        blocks = [one for one in (annotation, *get_args(annotation)) if _is_block(one)]
        if not blocks:
            return []
        schema = blocks[0]
    return list(schema.model_fields)


def _is_block(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
