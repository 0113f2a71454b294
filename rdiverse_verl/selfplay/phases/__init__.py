"""One file a phase: ``run(work) -> Outcome``."""
