"""Math answers: extract, compare, vote; bounded in time and memory whatever the model wrote."""

from rdiverse_verl.grading.extraction import extract
from rdiverse_verl.grading.grader import agrade, equivalent, grade, grading_counters
from rdiverse_verl.grading.limits import Limits
from rdiverse_verl.grading.service import configure, shut_down
from rdiverse_verl.grading.verdict import Verdict
from rdiverse_verl.grading.voting import Vote, vote

__all__ = [
    "Limits",
    "Verdict",
    "Vote",
    "agrade",
    "configure",
    "equivalent",
    "extract",
    "grade",
    "grading_counters",
    "shut_down",
    "vote",
]
