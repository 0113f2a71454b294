"""Let verl's training workers open their process group on a CPU.

verl asks torch for ``cpu:gloo,<device>:<backend>``; with the CPU as the device that names ``cpu`` twice, which torch
refuses.
"""

from functools import wraps
from typing import Any


def install(distributed: Any) -> None:
    """Make ``verl.utils.distributed.initialize_global_process_group_ray`` default to one gloo backend."""
    original = distributed.initialize_global_process_group_ray

    @wraps(original)
    def initialize_global_process_group_ray(timeout_second=None, backend=None):
        return original(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    distributed.initialize_global_process_group_ray = initialize_global_process_group_ray
