"""The tiny world: exact small problems, a tokenizer and a base model, so that every method runs in minutes on a CPU."""

from pathlib import Path

from rdiverse_verl.tiny.calibration import calibration_programs
from rdiverse_verl.tiny.family import Family, Problem
from rdiverse_verl.tiny.problems import FAMILIES, heldout_problems, sample_problem

__all__ = [
    "FAMILIES",
    "Family",
    "Problem",
    "base_model_path",
    "calibration_programs",
    "heldout_problems",
    "sample_problem",
]


def base_model_path() -> Path:
    """The Hugging Face folder of the base model that ships with this package."""
    return Path(__file__).parent / "base"
