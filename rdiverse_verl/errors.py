"""Every error this package raises on purpose.

Each class also derives from the built-in a caller would expect. Messages name the file, key or row, and the way out.
"""


class RdiverseError(Exception):
    """Base of all errors raised on purpose by this package."""


class ConfigError(RdiverseError, ValueError):
    """A configuration value or key is wrong."""


class DataError(RdiverseError, ValueError):
    """A file or a row does not hold what its reader needs."""


class StateError(RdiverseError, RuntimeError):
    """State on disk (run directory, memory, checkpoint) is foreign, damaged or in use."""


class ServiceError(RdiverseError, ConnectionError):
    """A served model is missing, dead or did not answer in time."""
