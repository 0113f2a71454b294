"""Seeds that depend on what is being done, never on chance or order of arrival."""

import hashlib


def derive_seed(*parts: int | str) -> int:
    """A seed in [0, 2**31) from a run seed and the names of the work, e.g. ``derive_seed(7, 2, "label", row)``."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33
