"""Rewards against values worked by hand from the papers."""

from typing import Any

import pytest

from rdiverse_verl.errors import ConfigError
from reward_fns import cosine_length, dapo_math, dra_math, math_accuracy, solver_match, think_format

RIGHT, WRONG, UNBOXED = "so \\boxed{4}", "so \\boxed{5}", "so 4"


def test_accuracy_is_one_zero_and_says_why() -> None:
    scores = [math_accuracy.compute_score("math", text, "4") for text in (RIGHT, WRONG, UNBOXED)]
    assert [(s["score"], s["acc"], s["parsed"], s["grading_unparsable"], s["pred"]) for s in scores] == [
        (1.0, 1.0, 1.0, 0.0, "4"),
        (0.0, 0.0, 1.0, 0.0, "5"),
        (0.0, 0.0, 0.0, 1.0, ""),
    ]


def test_an_answer_line_counts_only_where_the_row_asks_for_one() -> None:
    assert math_accuracy.compute_score("math_dapo", "Answer: 34", "34")["score"] == 0
    assert math_accuracy.compute_score("math_dapo", "Answer: 34", "34", {"answer_form": "line"})["score"] == 1


@pytest.mark.parametrize(
    ("prediction", "gold", "extra_info", "score"),
    [
        ("2", "2", {"answer_mode": "any", "answers": ["2", "\\frac{4}{2}"]}, 1),
        ("7", "2", {"answer_mode": "any", "answers": ["2", "7"]}, 1),
        ("3", "2", {"answer_mode": "any", "answers": ["2", "7"]}, 0),
        ("3", "-1,3", {"answer_mode": "all", "answers": []}, 0),
        ("3, -1", "-1,3", {"answer_mode": "all", "answers": []}, 1),
        ("3,7,5", "3,5,7", {}, 1),
        ("3,5", "3,5,7", {}, 0),
    ],
)
def test_any_of_several_answers_or_all_of_them(
    prediction: str, gold: str, extra_info: dict[str, Any], score: float
) -> None:
    assert math_accuracy.compute_score("olympiad", f"\\boxed{{{prediction}}}", gold, extra_info)["score"] == score


@pytest.mark.parametrize("gold", [34, 34.0, None, ["34"]])
def test_a_gold_that_is_no_text_is_an_error_not_a_zero(gold: Any) -> None:
    with pytest.raises(TypeError, match="gold must be text"):
        math_accuracy.compute_score("math", "\\boxed{34}", gold)


def test_solver_match_compares_with_the_pseudo_label() -> None:
    assert solver_match.compute_score("rdiverse", "\\boxed{\\frac12}", "0.5")["score"] == 1
    assert solver_match.compute_score("rdiverse", "\\boxed{0.6}", "0.5")["score"] == 0


# cos(0) = 1, cos(pi/3) = 1/2, cos(pi/2) = 0, cos(pi) = -1.
@pytest.mark.parametrize(
    ("preset", "text", "length", "score"),
    [
        ("paper", RIGHT, 0, 1.0),
        ("paper", RIGHT, 1792, 0.75),
        ("paper", RIGHT, 3584, 0.5),
        ("paper", RIGHT, 7168, 0.5),  # the released code swings back to 1.0 here
        ("paper", WRONG, 0, -1.0),
        ("paper", WRONG, 1792, -0.75),
        ("paper", WRONG, 3584, -0.5),
        ("released", RIGHT, 500, 0.75),
        ("released", RIGHT, 2000, 0.5),
        ("released", WRONG, 0, 0.0),
        ("released", WRONG, 500, -0.25),
        ("released", WRONG, 1000, -0.5),
        ("released", UNBOXED, 1000, -0.5),
    ],
)
def test_cosine_presets(preset: str, text: str, length: int, score: float) -> None:
    result = cosine_length.compute_score("math", text, "4", {"response_length": length}, preset=preset)
    assert result["score"] == pytest.approx(score)
    assert result["acc"] == float(text == RIGHT)
    assert result["response_length"] == length


def test_cosine_over_another_length() -> None:
    result = cosine_length.compute_score("math", RIGHT, "4", {"response_length": 100}, max_length=300)
    assert result["score"] == pytest.approx(0.5 + 0.5 * (1 + 0.5) / 2)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("First, 2 plus 2.\n</think>\nThe answer is \\boxed{4}.", 1),
        ("<think>\nFirst.\n</think>\n\\boxed{4}", 1),
        ("First.\n<think>\nagain\n</think>\n\\boxed{4}", 0),
        ("<think>\nFirst <think> again\n</think>\n\\boxed{4}", 0),
        ("First.\n</think>\nmore\n</think>\n\\boxed{4}", 0),
        ("First.</think>\\boxed{4}", 0),
        ("\\boxed{4}", 0),
        ("", 0),
    ],
)
def test_think_format(text: str, score: float) -> None:
    assert think_format.compute_score("math", text, "4")["score"] == score


def test_think_format_reports_accuracy_apart() -> None:
    assert think_format.compute_score("math", "\\boxed{4}", "4")["acc"] == 1


@pytest.mark.parametrize(
    ("text", "score", "parts"),
    [
        ("a\n</think>\n\\boxed{4}", 2.5, (1.0, 0.75)),
        ("\\boxed{4}", 1.5, (0.0, 0.75)),
        ("a\n</think>\n\\boxed{5}", -0.5, (1.0, -0.75)),
        ("\\boxed{5}", -1.5, (0.0, -0.75)),
    ],
)
def test_dra_math_is_format_plus_twice_cosine(text: str, score: float, parts: tuple[float, float]) -> None:
    result = dra_math.compute_score("open_rs", text, "4", {"response_length": 1792})
    assert result["score"] == pytest.approx(score)
    assert (result["format"], result["cosine"]) == pytest.approx(parts)


# DAPO, Eq. 13, with L_max = 20480 and L_cache = 4096: free up to 16384.
@pytest.mark.parametrize(
    ("length", "penalty"), [(0, 0), (16384, 0), (17408, -0.25), (18432, -0.5), (20480, -1), (30000, -1)]
)
@pytest.mark.parametrize(("text", "base"), [(RIGHT, 1), (WRONG, -1), (UNBOXED, -1)])
def test_dapo_with_overlong_shaping(length: int, penalty: float, text: str, base: float) -> None:
    result = dapo_math.compute_score(
        "math_dapo", text, "4", {"response_length": length}, max_length=20480, overlong_buffer=4096
    )
    assert (result["score"], result["overlong"]) == pytest.approx((base + penalty, penalty))
    assert result["acc"] == float(base == 1)


def test_dapo_without_lengths_needs_no_tokens() -> None:
    assert dapo_math.compute_score("math_dapo", RIGHT, "4")["score"] == 1


@pytest.mark.parametrize(
    ("module", "settings", "message"),
    [
        (cosine_length, {}, "cannot count tokens: add .*reward_kwargs.tokenizer"),
        (cosine_length, {"tokenizer": "/nowhere"}, "/nowhere is no tokenizer"),
        (cosine_length, {"preset": "papers"}, "'papers' is not one of paper, released"),
        (dra_math, {"max_length": 0}, "max_length: 0 tokens"),
        (dapo_math, {"max_length": 100}, "both max_length and overlong_buffer"),
        (dapo_math, {"max_length": 100, "overlong_buffer": 200}, "overlong_buffer 200 is not between 1 and"),
    ],
)
def test_wrong_settings_are_named(module: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        module.compute_score("math", RIGHT, "4", **settings)


def test_tokens_are_counted_with_the_given_tokenizer(word_tokenizer: str) -> None:
    result = cosine_length.compute_score("math", "a b c \\boxed{4}", "4", max_length=8, tokenizer=word_tokenizer)
    assert result["response_length"] == 4
    assert result["score"] == pytest.approx(0.75)
