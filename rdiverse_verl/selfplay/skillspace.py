"""The skill space of a run: its encoder, centred where the recipe calibrates it (R-Diverse, Eq. 10)."""

from pathlib import Path

from rdiverse_verl.embedding.encoder import load_encoder
from rdiverse_verl.errors import DataError
from rdiverse_verl.selfplay.records import read_records
from rdiverse_verl.selfplay.settings import Skill
from rdiverse_verl.selfplay.work import Work, locate
from rdiverse_verl.skills.sam import SkillSpace, calibrate, load_centre, save_centre


def open_skill_space(work: Work) -> SkillSpace:
    """The space that every iteration of this run measures in."""
    skill = work.settings.skill
    return SkillSpace(load_encoder(skill.encoder, skill.device), load_centre(work.centre) if work.centre else None)


def write_centre(skill: Skill, path: Path) -> None:
    """The mean vector of the recipe's calibration programs, JSON lines of {"program": ...}."""
    source = Path(locate(skill.calibration or "", "skill.calibration"))
    programs = []
    for number, record in enumerate(read_records(source), start=1):
        if not isinstance(record.get("program"), str):
            raise DataError(f'{source}: line {number} is not {{"program": "def solver(...): ..."}}')
        programs.append(record["program"])
    save_centre(path, calibrate(load_encoder(skill.encoder, skill.device), programs))
