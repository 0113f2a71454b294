"""Judge a response against its gold answer."""

from rdiverse_verl.grading.exact import equal
from rdiverse_verl.grading.extraction import Form, extract
from rdiverse_verl.grading.normal import normalize
from rdiverse_verl.grading.verdict import Verdict


def grade(prediction: str, gold: str, form: Form = "box") -> Verdict:
    """Judge the final answer of a response. ``form`` says what counts as its answer (see ``extract``)."""
    answer = extract(prediction, form)
    if not gold.strip():
        return Verdict("error", answer, "gold")
    if answer is None:
        return Verdict("unparsable", None, "extract")
    return Verdict("correct" if equivalent(answer, gold) else "wrong", answer, "exact")


def equivalent(a: str, b: str) -> bool:
    """Whether two extracted answers mean the same."""
    x, y = normalize(a), normalize(b)
    return bool(x) and (x == y or bool(equal(x, y)))
