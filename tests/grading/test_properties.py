"""Properties over generated values."""

import itertools
import random
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from rdiverse_verl.grading import equivalent, grade, vote

NUMBERS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)


def renderings(number: Fraction) -> list[str]:
    """Ways to write one rational."""
    p, q, sign = abs(number.numerator), number.denominator, "-" if number < 0 else ""
    forms = [
        f"{sign}\\frac{{{p}}}{{{q}}}",
        f"{sign}{p}/{q}",
        f"\\dfrac{{{sign}{p}}}{{{q}}}",
        f"{sign}\\frac{{{3 * p}}}{{{3 * q}}}",
    ]
    forms += [f"${forms[0]}$", f"**{forms[1]}**", f"{forms[1]}.", f"x = {forms[0]}", f"{sign}({p})/({q})"]
    forms += [form.replace("-", "−") for form in forms[:2]]
    whole, rest = divmod(p, q)
    if whole and rest:
        forms += [f"{sign}{whole}\\frac{{{rest}}}{{{q}}}", f"{sign}{whole} {rest}/{q}"]
    if q == 1:
        forms += [f"{sign}{p}", f"{sign}{p:,}", f"{sign}{p:,}".replace(",", ",\\!"), f"{sign}{p:,}".replace(",", "\\,")]
        forms += [f"{sign}{p}.00", f"{sign}0{p}", f"{sign}{p:,}".replace(",", "{,}"), f"\\text{{{sign}{p}}}"]
    if 10**12 % q == 0:
        forms += [
            f"{sign}{p * 10**12 // q}e-12",
            f"{sign}{p * 10**12 // q}\\times 10^{{-12}}",
            f"{sign}{p * 10**12 // q}*10^-12",
        ]
    return forms


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_one_value_in_many_forms_is_always_itself(number):
    for a, b in itertools.product(renderings(number), repeat=2):
        assert equivalent(a, b), (a, b)


@settings(max_examples=300, deadline=None)
@given(NUMBERS, NUMBERS, st.data())
def test_unequal_values_are_never_equal(one, other, data):
    if one != other:
        a, b = data.draw(st.sampled_from(renderings(one))), data.draw(st.sampled_from(renderings(other)))
        assert not equivalent(a, b)
        assert not equivalent(b, a)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 999), min_size=2, max_size=5))
def test_a_list_is_never_the_number_its_digits_make(numbers):
    grouped_in_threes = all(len(str(number)) == 3 for number in numbers[1:])
    joined = "".join(map(str, numbers))
    assert equivalent(",".join(map(str, numbers)), joined) == (grouped_in_threes and numbers[0] > 0) or numbers[0] == 0


@settings(max_examples=200, deadline=None)
@given(st.integers(10, 10**7), st.data())
def test_a_blank_joins_digits_only_in_groups_of_three(number, data):
    digits = str(number)
    place = data.draw(st.integers(1, len(digits) - 1))
    in_groups = len(digits) - place == 3 and place <= 3
    assert equivalent(f"{digits[:place]} {digits[place:]}", digits) == in_groups


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 50), st.integers(2, 50), st.data())
def test_a_mixed_number_is_a_sum_and_never_a_product(whole, q, data):
    p = data.draw(st.integers(1, q - 1))
    for sign in ("", "-"):
        mixed = f"{sign}{whole}\\frac{{{p}}}{{{q}}}"
        assert equivalent(mixed, f"{sign}{whole * q + p}/{q}")
        assert not equivalent(mixed, f"{sign}{whole * p}/{q}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=5, unique=True), st.randoms(use_true_random=False))
def test_lists_and_sets_have_no_order_and_tuples_have_one(numbers, chance):
    other = numbers[:]
    chance.shuffle(other)
    a, b = ",".join(map(str, numbers)), ",".join(map(str, other))
    assert equivalent(f"\\{{{a}\\}}", f"\\{{{b}\\}}")
    assert equivalent(a.replace(",", ", "), b.replace(",", ", "))
    assert equivalent(f"({a})", f"({b})") == (numbers == other)
    assert not equivalent(f"\\{{{a}\\}}", f"\\{{{b},77\\}}")


def test_every_proper_part_of_a_list_is_wrong():
    parts = ["2", "3", "5", r"\sqrt{7}"]
    for size in range(1, len(parts)):
        for some in itertools.combinations(parts, size):
            assert not equivalent(", ".join(some), ", ".join(parts))


def test_tiny_numbers_stay_distinct():
    for k in range(5, 201):
        assert not equivalent(f"2^{{-{k}}}", f"2^{{-{k + 1}}}")
        assert equivalent(f"2^{{-{k}}}", f"1/2^{k}")


def test_units_match_themselves_and_none_only():
    units = ["", "\\text{ cm}", "\\text{ km}", "\\text{ m}", "\\text{ s}", "^\\circ"]
    for a, b in itertools.product(units, repeat=2):
        assert equivalent(f"5{a}", f"5{b}") == (a == b or not a or not b)


def test_lines_equal_their_multiples_and_no_other_line():
    chance = random.Random(3)
    lines = {tuple(chance.randint(1, 20) for _ in range(3)) for _ in range(10)}
    for (a, b, c), (d, e, f) in itertools.product(lines, repeat=2):
        same = a * e == b * d and b * f == c * e and a * f == c * d
        assert equivalent(f"{a}x-{b}y+{c}=0", f"{2 * d}x-{2 * e}y+{2 * f}=0") == same


def test_two_thousand_unequal_pairs_have_no_false_positive():
    chance = random.Random(11)
    templates = [
        "{}", "\\frac{{{}}}{{7}}", "{}\\sqrt{{3}}", "\\sqrt{{{}}}", "{}\\pi", "x^{{{}}}", "{}x+1", "(1, {})",
        "\\{{0, {}\\}}", "[0, {}]", "x<{}", "{}\\%", "e^{{{}}}", "\\ln {}", "\\sin {}", "2^{{{}n}}", "\\pm {}", "{}:1",
        "{} \\text{{ cm}}", "y={}x", "\\begin{{pmatrix}}1\\\\{}\\end{{pmatrix}}", "10^{{-{}}}", "\\sqrt[3]{{{}}}",
        "\\frac{{1}}{{x+{}}}",
    ]  # fmt: skip
    wrong = []
    for number in range(2000):
        template = templates[number % len(templates)]
        one, other = chance.sample(range(2, 99), 2)
        a, b = template.format(one), template.format(other)
        if equivalent(a, b):
            wrong.append((a, b))
    assert wrong == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), NUMBERS), min_size=1, max_size=10), st.data())
def test_a_vote_counts_values_whatever_their_form_and_order(numbers, data):
    answers = [None if number is None else data.draw(st.sampled_from(renderings(number))) for number in numbers]
    counts = {number: numbers.count(number) for number in numbers if number is not None}
    for order in (answers, answers[::-1], data.draw(st.permutations(answers))):
        result = vote(order)
        assert result.share == (max(counts.values()) / len(numbers) if counts else 0.0)
        assert sorted(map(len, result.classes)) == sorted(counts.values())


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gets_a_verdict_and_equals_itself(text):
    assert grade(text, "17", "bare").kind in ("correct", "wrong", "unparsable")
    if text.strip():
        assert equivalent(text, text)
