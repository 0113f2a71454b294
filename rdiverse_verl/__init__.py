"""R-Diverse, ExTra and DRA-GRPO as plug-ins for verl."""

__version__ = "0.1.0"
