"""Settings: unknown keys name the nearest one, and every error names the file and the key."""

from pathlib import Path

import pytest
from pydantic import Field

from rdiverse_verl.config import Settings, load_settings
from rdiverse_verl.errors import ConfigError


class Inner(Settings):
    learning_rate: float = Field(1e-6, gt=0)


class Outer(Settings):
    steps: int
    inner: Inner = Inner()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text("steps: 3\ninner:\n  learning_rate: 0.5\n")
    return path


def test_overrides_win_over_the_file(file: Path) -> None:
    settings = load_settings(Outer, file, ["steps=4", "inner.learning_rate=1e-3"])
    assert (settings.steps, settings.inner.learning_rate) == (4, 1e-3)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("inner.learning_rat=1", r"recipe\.yaml: unknown key 'inner\.learning_rat'; did you mean 'learning_rate'\?"),
        ("step=1", r"unknown key 'step'; did you mean 'steps'\?"),
        ("zzz=1", r"unknown key 'zzz'; known here: steps, inner"),
        ("inner.learning_rate=-1", r"inner\.learning_rate: Input should be greater than 0 \(got -1\)"),
        ("steps", "override 'steps' is not of the form key=value"),
    ],
)
def test_wrong_overrides_are_explained(file: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(Outer, file, [override])


@pytest.mark.parametrize("content", ["steps: [1,\n", "- 1\n- 2\n", "\tsteps: 1\n"])
def test_a_file_that_is_no_mapping_is_refused_by_name(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(ConfigError, match=r"recipe\.yaml"):
        load_settings(Outer, file)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: no such configuration file"):
        load_settings(Outer, tmp_path / "none.yaml")
