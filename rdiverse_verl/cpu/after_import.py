"""Run a function right after a module is imported, whenever that happens.

verl imports its plug-ins in every process, most of which never touch an engine or a rollout. Hooks keep those processes
free of the imports that a registration needs.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Hook = Callable[[ModuleType], None]


def after_import(module: str, hook: Hook) -> None:
    """Call ``hook(module)`` once ``module`` has been imported; at once if it already has been."""
    if module in sys.modules:
        hook(sys.modules[module])
    else:
        sys.meta_path.insert(0, _HookFinder(module, hook))


class _HookFinder(MetaPathFinder):
    def __init__(self, module: str, hook: Hook) -> None:
        self.module = module
        self.hook = hook

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _HookLoader(spec.loader, self.hook)
        return spec


class _HookLoader(Loader):
    def __init__(self, loader: Loader, hook: Hook) -> None:
        self.loader = loader
        self.hook = hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.hook(module)
