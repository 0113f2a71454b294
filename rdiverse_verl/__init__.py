"""Self-play and diversity methods for reasoning models, as plug-ins for verl."""

__version__ = "0.1.0"
