"""``python -m rdiverse_verl`` is the ``rdiverse`` command."""

from rdiverse_verl.cli import main

main()
