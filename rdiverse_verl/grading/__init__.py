"""Math answers: extract, compare, vote; bounded in time and memory whatever the model wrote."""

from rdiverse_verl.grading.extraction import extract
from rdiverse_verl.grading.grader import equivalent, grade
from rdiverse_verl.grading.verdict import Verdict
from rdiverse_verl.grading.voting import Vote, vote

__all__ = ["Verdict", "Vote", "equivalent", "extract", "grade", "vote"]
