"""The Solver answers a question (R-Diverse, App. A.2)."""

SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."


def messages(question: str) -> list[dict[str, str]]:
    """The prompt for one question."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
