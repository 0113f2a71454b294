"""``python -m rdiverse_verl.cpu.serve --model DIR``: a model over HTTP, for as long as the parent process lives."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from rdiverse_verl.cpu.model_folder import check_model_folder
from rdiverse_verl.errors import ConfigError

_PARENT_POLL_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the parent's death. What keeps it from starting is one line and exit code 2."""
    arguments = _parse(argv)
    threading.Thread(target=_die_with_parent, args=(os.getppid(),), name="parent-watch", daemon=True).start()
    try:
        check_model_folder(Path(arguments.model))
        listener = _listen(arguments.host, arguments.port)
        _serve(arguments, listener)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rdiverse_verl.cpu.serve", description=__doc__)
    parser.add_argument("--model", required=True, metavar="DIR", help="folder of a Transformers model with tokenizer")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--served-model-name", metavar="NAME", help="the model's name in requests (default: DIR)")
    parser.add_argument("--max-batch-size", type=int, default=64, help="requests that run at once")
    parser.add_argument("--seed", type=int, default=0, help="source of the seeds of requests that bring none")
    return parser.parse_args(argv)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error}; choose another --port, or 0 for a free one"
        ) from error


def _serve(arguments: argparse.Namespace, listener: socket.socket) -> None:
    # Imported late, so that a wrong folder or a port in use is said at once.
    from transformers.utils.logging import disable_progress_bar

    from rdiverse_verl.cpu.engine import GenerationEngine
    from rdiverse_verl.cpu.server import serve_http

    disable_progress_bar()
    engine = GenerationEngine(arguments.model, max_batch_size=arguments.max_batch_size, seed=arguments.seed)
    serving = serve_http(engine, arguments.served_model_name or arguments.model, listener)
    # The socket already queues connections: a client that reads this line is answered.
    print(f"listening on http://{arguments.host}:{listener.getsockname()[1]}", flush=True)
    asyncio.run(serving)


def _die_with_parent(parent: int) -> None:
    # Linux's own parent-death signal comes when the parent's *thread* ends, so a starter thread would take us with it.
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
