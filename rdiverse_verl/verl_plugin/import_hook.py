"""Run something right after a module is imported, without importing it."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], None]


def after_import(name: str, action: Action) -> None:
    """Call ``action(module)`` once ``name`` has been imported; at once if it already has been.

    An error in ``action`` fails the import that triggered it.
    """
    if name in sys.modules:
        action(sys.modules[name])
    else:
        _finder.waiting.setdefault(name, []).append(action)


class _Finder(MetaPathFinder):
    """Finds nothing itself: extends the loader that the other finders choose."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Action]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        actions = self.waiting.pop(fullname, None)  # popped first: the look-up below comes back here
        if actions is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_then_act(module: ModuleType) -> None:
            load(module)
            for action in actions:
                action(module)

        spec.loader.exec_module = load_then_act  # type: ignore[method-assign]
        return spec


_finder = _Finder()
sys.meta_path.insert(0, _finder)
