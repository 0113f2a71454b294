import contextlib
import time

import pytest

from rdiverse_verl.errors import DataError
from rdiverse_verl.skills import canonical_code

CANONICAL = "from sympy import symbols\n\ndef solver(n1, n2):\n    x = n1 + n2\n    return x"


@pytest.mark.parametrize(
    "code",
    [
        CANONICAL,
        "from sympy import symbols\ndef solver(n1=5, n2=3):\n  x = (n1 + n2)  # sum\n  return x\n",
        'from sympy import symbols\ndef solver(n1, n2=-7.5):\n    """Add."""\n    x=n1+n2\n\n    return(x)',
        "'''About.'''\nfrom sympy import symbols\nK = 9\ndef solver(n1=10**6, n2=3/4):\n    x = n1 + n2\n    'so'\n"
        "    return x\nprint(solver(1, 2))\nif __name__ == '__main__':\n    solver()\n",
    ],
)
def test_numbers_format_and_comments_do_not_matter(code):
    assert canonical_code(code) == CANONICAL


def test_what_the_program_does_is_kept():
    code = "def half(x):\n    return x / 2\n\ndef solver(n1, *, n2):\n    return half(n1) * 4 + n2"
    assert canonical_code(code.replace("n1,", "n1=3,").replace("n2)", "n2=1)", 1)) == code
    assert canonical_code(code) != canonical_code(code.replace("* 4", "- 4"))


def test_it_is_its_own_canonical_form():
    assert canonical_code(canonical_code(CANONICAL)) == CANONICAL


def test_a_body_of_text_alone_becomes_pass():
    assert canonical_code("def solver(n1=1):\n    '''todo'''") == "def solver(n1):\n    pass"
    branch = "def solver(n1):\n    if n1:\n        'never'\n    else:\n        return 1"
    assert "pass" in canonical_code(branch)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "0 top-level functions"),
        ("def solve(): pass", "0 top-level functions"),
        ("def solver(): pass\ndef solver(): pass", "2 top-level functions"),
        ("class A:\n    def solver(self): pass", "0 top-level functions"),
        ("def solver(:", "SyntaxError"),
        ("def solver():\n\treturn 1\n        return 2", "Error"),
        ("def solver(): return '\x00'", "cannot be parsed"),
        ("def solver(): return '\ud800'", "cannot be parsed"),
        ("def solver(): return " + "9" * 5000, "cannot be parsed"),
        ("def solver(): return 0x" + "f" * 5000, "cannot be parsed"),
        ("x" * 20_001, "longer than 20000"),
    ],
)
def test_what_has_no_canonical_form_says_why(code, why):
    with pytest.raises(DataError, match=why):
        canonical_code(code)


@pytest.mark.parametrize(
    "body",
    [
        "(" * 9000 + ")" * 9000,
        "-" * 19_000 + "1",
        "a" + ".a" * 9000,
        "f" + "()" * 9000,
        "not " * 4500 + "1",
        "1" + "+1" * 9000,
        "1" + "**1" * 6000,
        "[" * 150 + "]" * 150,
        "lambda: " * 2000 + "1",
        "f'" + "{a}" * 6000 + "'",
    ],
)
def test_hostile_nesting_ends_in_bounded_time(body):
    start = time.process_time()
    with contextlib.suppress(DataError):
        assert canonical_code(f"def solver(): return {body}").startswith("def solver():")
    assert time.process_time() - start < 5


def test_nothing_is_executed(tmp_path):
    mark = tmp_path / "mark"
    trap = f"open({str(mark)!r}, 'w')"
    canonical_code(f"@{trap}.write\ndef solver(n1={trap}):\n    return {trap}\n{trap}")
    assert not mark.exists()
