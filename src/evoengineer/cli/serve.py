"""`evoengineer serve`: the dashboard."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser

TOKEN_VARIABLE = "EVOENGINEER_SERVE_TOKEN"
_LEAST_TOKEN = 16


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `serve`."""
    serve = groups.add_parser(
        "serve",
        help="a live dashboard of the archive's runs in the browser",
        epilog=f"Beyond this machine a token is needed: ${TOKEN_VARIABLE}, or a new one that is printed.",
    )
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default 127.0.0.1)"
    )
    serve.add_argument(
        "--port", type=int, default=8765, metavar="N", help="0: any that is free (default 8765)"
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that browsers may use for this server",
    )
    add_archive(serve)
    serve.set_defaults(command=serve_command)


def serve_command(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    try:
        import uvicorn

        from evoengineer.web.app import Dashboard
        from evoengineer.web.guard import Guard, is_loopback
    except ImportError as error:
        raise EvoEngineerError(f"the dashboard needs {error.name}: pip install 'evoengineer[web]'") from error
    from evoengineer.archive.opening import refuse_foreign
    from evoengineer.experiment.evolving import archive_file

    archive = archive_file(options.archive)
    if archive.exists():
        refuse_foreign(archive, may_be_empty=True)
    if not 0 <= options.port < 65536:
        raise UsageError(f"--port must be from 0 to 65535, not {options.port}")
    token = None if is_loopback(options.host) else _token()
    names = [*options.allow_host, *([] if token is None else [socket.gethostname(), socket.getfqdn()])]
    listener = _listen(options.host, options.port)
    shown = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{shown}:{listener.getsockname()[1]}/"
    print(f"{archive}: {address}" + (f"?token={token}" if token else ""), flush=True)
    dashboard = Dashboard(archive.resolve(), Guard(options.host, names=names, token=token))
    settings = uvicorn.Config(
        dashboard.app(), log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=3, lifespan="off",
    )  # fmt: skip
    server = uvicorn.Server(settings)
    dashboard.ending = lambda: server.should_exit
    server.run(sockets=[listener])
    return 0


def _token() -> str:
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None and len(given) < _LEAST_TOKEN:
        raise UsageError(f"${TOKEN_VARIABLE} is too short: at least {_LEAST_TOKEN} characters")
    return given or secrets.token_urlsafe(24)


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(found[0], socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found[4])
        listener.listen()  # whoever reads the address may come at once
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. --port N chooses another."
        ) from error
    return listener
