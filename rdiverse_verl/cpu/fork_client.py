"""What Ray runs in place of Python to start a worker: asks the fork server for one, and stays until that one ends.

    python fork_client.py SCRIPT ARGUMENT...

Without a fork server it becomes the Python that Ray would have started.
"""

import json
import os
import socket
import sys

SOCKET = "RDIVERSE_FORK_SERVER"


def main() -> None:
    if not _run_forked():
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


def _run_forked() -> bool:
    """Returns after the worker's end; False if none was started."""
    request = {"argv": sys.argv[1:], "environ": dict(os.environ), "folder": os.getcwd()}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        try:
            server.connect(os.environ[SOCKET])
            socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
            started = server.recv(1)
        except (KeyError, OSError):
            return False
        if started:
            server.recv(1)  # the worker holds the other end for as long as it lives
        return bool(started)


if __name__ == "__main__":
    main()
