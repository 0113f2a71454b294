"""SAM: a question's solver program, its canonical form and its vector."""

from rdiverse_verl.skills.canonical import canonical_code
from rdiverse_verl.skills.sam import SkillSpace, calibrate, load_centre, save_centre
from rdiverse_verl.skills.saturation import Saturation, saturation

__all__ = ["Saturation", "SkillSpace", "calibrate", "canonical_code", "load_centre", "saturation", "save_centre"]
