"""The one pool of this process: started when first needed, ended with the process, never shared over a fork."""

import atexit
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from rdiverse_verl.grading.limits import Limits
from rdiverse_verl.grading.pool import Pool

_lock = threading.Lock()
_limits: Limits | None = None
_pool: Pool | None = None
_threads: ThreadPoolExecutor | None = None


def pool() -> Pool:
    """This process's pool."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = Pool(_limits or Limits.from_environment())
    return _pool


def threads() -> ThreadPoolExecutor:
    """Threads that wait for workers on behalf of an event loop, one a worker."""
    global _threads
    if _threads is None:
        size = pool().limits.workers
        with _lock:
            if _threads is None:
                _threads = ThreadPoolExecutor(size, thread_name_prefix="grading")
    return _threads


def configure(limits: Limits) -> None:
    """Grade under these limits from now on; a running pool is ended."""
    global _limits
    shut_down()
    _limits = limits


def shut_down() -> None:
    """End the pool. The next comparison that needs one starts another."""
    global _pool, _threads
    with _lock:
        ending, _pool, _threads = _pool, None, None
    if ending:
        ending.close()


def workers_replaced() -> int:
    """How many workers this process's pool had to replace."""
    return _pool.replaced if _pool else 0


def _after_fork_in_child() -> None:
    global _pool, _threads, _lock
    _lock = threading.Lock()
    inherited, _pool, _threads = _pool, None, None
    if inherited:
        inherited.abandon()


atexit.register(shut_down)
os.register_at_fork(after_in_child=_after_fork_in_child)
