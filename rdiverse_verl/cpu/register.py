"""Entry point (group ``verl.plugins``) that verl imports in every process; acts only when ``VERL_PLATFORM=cpu``.

Everything heavy waits for the verl module it belongs to, so a process that never trains or generates pays nothing. verl
swallows a plug-in's errors at DEBUG level; leaving the process is the only way to be heard.
"""

import os
import traceback

if os.environ.get("VERL_PLATFORM", "").strip().lower() == "cpu":
    try:
        from rdiverse_verl.cpu.install import install

        install()
    except Exception as error:
        traceback.print_exc()
        raise SystemExit(
            f"rdiverse-verl: VERL_PLATFORM=cpu, but the CPU plug-in failed to load ({type(error).__name__}: {error}); "
            'check the installation with `pip install "rdiverse-verl[cpu]"` and `rdiverse doctor`'
        ) from error
