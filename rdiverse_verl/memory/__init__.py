"""The persistent memory bank: what every iteration asked, and how close a new question comes to it."""

from rdiverse_verl.memory.bank import MemoryBank
from rdiverse_verl.memory.frozen import FrozenMemory
from rdiverse_verl.memory.rows import MemoryRow

__all__ = ["FrozenMemory", "MemoryBank", "MemoryRow"]
