"""Imported by verl in every process (entry point group ``verl.plugins``)."""
