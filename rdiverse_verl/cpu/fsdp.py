"""verl's own FSDP engine, registered for the CPU.

Only ``fsdp2``: FSDP1 refuses to broadcast the initial weights of modules that live on a CPU.
"""

from types import ModuleType


def install(engine: ModuleType) -> None:
    """Register ``FSDPEngineWithLMHead`` of the module ``verl.workers.engine`` for device ``cpu``."""
    register = engine.EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
    register(engine.FSDPEngineWithLMHead)
