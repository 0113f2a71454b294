"""The papers' equations: pure functions on arrays."""
