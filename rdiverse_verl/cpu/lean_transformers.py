"""Transformers' Auto classes without scikit-learn, for a process that is to start soon.

Wherever it is installed, Transformers imports scikit-learn (with scipy and pandas, a third of its own start-up) for one
curve of assisted decoding, which nothing here uses.
"""

from transformers import utils

_is_sklearn_available = utils.is_sklearn_available
utils.is_sklearn_available = lambda: False  # type: ignore[assignment]
try:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
finally:
    utils.is_sklearn_available = _is_sklearn_available

__all__ = ["AutoConfig", "AutoModelForCausalLM", "AutoTokenizer"]
