"""A reply that does not have the form its role was asked for."""

from rdiverse_verl.errors import DataError


class MalformedReply(DataError):
    """`reason` is one of a few fixed phrases, so that replies can be counted by kind."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
