"""Imported by verl in every process (entry point group ``verl.plugins``); acts only when VERL_PLATFORM=cpu."""
