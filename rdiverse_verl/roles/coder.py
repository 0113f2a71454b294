"""The Coder turns a question into a canonical solver program (R-Diverse, Sec. 3.2 and App. A.2)."""

import re

from rdiverse_verl.errors import DataError
from rdiverse_verl.roles.malformed import MalformedReply
from rdiverse_verl.skills.canonical import canonical_code

INSTRUCTIONS = '''\
# Role
You are a Strict Python Logic Encoder for Mathematical Problems.

# Objective
Convert the user's Math Question into a pure, comment-free Python solver function. The code must represent the \
abstract solution logic used to solve or prove the problem.

# Critical Constraints (MUST FOLLOW)
Strictly NO Comments: The output code must NOT contain any comments (# or """). No docstrings. Pure code only.
Function Signature (Separating Data from Logic): You must define a single function named solver. Extract all numerical \
values from the question and put them as default arguments in the function definition (e.g., def solver(n1=35, \
n2=94):). The function body should ONLY contain variable definitions (unknowns) and operations/assertions.
Variable Naming (Abstract Only): FORBIDDEN: Semantic names (e.g., apple, speed, price). REQUIRED: Arguments: n1, n2, \
n3...; Variables: x, y, z, a, b, c; Constants/Limits: k, m.
Handling Proof/Proving Questions: If the question asks to "Prove X", the code must construct the hypothesis using \
sympy symbols and return a Boolean value (True if the proof holds). Do not print "Proven". Return the result of the \
logical check (e.g., return sympy.simplify(lhs - rhs) == 0).
Robustness for Flawed Input: If the input question is ambiguous, logically flawed, or poorly phrased, do not complain. \
Infer the most likely intended mathematical logic and generate code for that valid interpretation.
Output Format: Output ONLY the code block enclosed in <CODE> tags.

# Few-Shot Examples
User Input (Arithmetic): "John has 5 apples and buys 3 more. How many does he have?"
Output:
<CODE>
def solver(n1=5, n2=3):
    res = n1 + n2
    return res
</CODE>

User Input (Algebra): "A farm has chickens and rabbits. There are 35 heads and 94 legs. Find the number of rabbits."
Output:
<CODE>
from sympy import symbols, Eq, solve
def solver(n1=35, n2=94):
    x, y = symbols('x y')
    eq1 = Eq(x + y, n1)
    eq2 = Eq(2*x + 4*y, n2)
    sol = solve((eq1, eq2), (x, y))
    return sol[y]
</CODE>

User Input (Proof/Theorem): "Prove that $(a+b)^{2}$ is always equal to $a^{2}+2ab+b^{2}$."
Output:
<CODE>
from sympy import symbols, simplify
def solver():
    a, b = symbols('a b')
    expr1 = (a + b)**2
    expr2 = a**2 + 2*a*b + b**2
    return simplify(expr1 - expr2) == 0
</CODE>

User Input (Flawed/Noisy Question): "Calculate velocity if distance is 100, voltage is 20V... um... and time is 20."
Output:
<CODE>
def solver(n1=100, n2=20):
    v = n1 / n2
    return v
</CODE>

# Begin Task
Input Question: '''


_PROMPT_MIDDLE = "# Few-Shot Examples"
_PROMPT_END = "# Begin Task\nInput Question: "
_FENCE = re.compile(r"^```[\w ]*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)


def messages(question: str) -> list[dict[str, str]]:
    """The prompt for one question. The question goes last, after the constant instructions."""
    return [{"role": "user", "content": INSTRUCTIONS + question}]


def parse(text: str) -> str:
    """The program in one reply: the first ``<CODE>`` block, else the first fenced block, else the whole text.

    A reply that repeats the prompt is read from the end of the prompt on: the prompt's own examples are in ``<CODE>``
    blocks too. What comes back always has a canonical form.

    Raises MalformedReply with the reason: empty reply, prompt echoed, unterminated code block, no single solver.
    """
    reply = _after_echo(text)
    if not reply.strip():
        raise MalformedReply("prompt echoed" if text.strip() else "empty reply")
    code = _block(reply)
    try:
        canonical_code(code)
    except DataError as error:
        raise MalformedReply("no single solver", str(error)) from error
    return code.strip("\n")


def _after_echo(text: str) -> str:
    _, marker, after = text.rpartition(_PROMPT_END)
    if not marker:
        return "" if _PROMPT_MIDDLE in text else text
    return after if "<CODE>" in after or "```" in after else ""


def _block(reply: str) -> str:
    _, opening, after = reply.partition("<CODE>")
    if opening:
        reply, closing, _ = after.partition("</CODE>")
        if not closing:
            raise MalformedReply("unterminated code block")
    fenced = _FENCE.search(reply)
    return fenced["code"] if fenced else reply
