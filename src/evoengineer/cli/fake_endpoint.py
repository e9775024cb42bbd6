"""`evoengineer fake-endpoint SCRIPT`: a chat endpoint on this machine with scripted answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.numbers import whole
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `fake-endpoint`."""
    fake = groups.add_parser(
        "fake-endpoint", help="a chat endpoint with scripted answers, for tests and demos"
    )
    fake.add_argument("script", type=Path, metavar="SCRIPT.toml", help="see docs/proposers.md")
    fake.add_argument("--port", type=whole(0, 65535), default=0, metavar="N", help="default: any free one")
    fake.set_defaults(command=fake_command)


def fake_command(options: argparse.Namespace) -> int:
    """Serve until it is ended."""
    from evoengineer.propose.fake_endpoint import FakeEndpoint
    from evoengineer.propose.fake_script import load_script

    loaded = load_script(options.script)
    try:
        endpoint = FakeEndpoint(
            loaded.script,
            port=options.port,
            requests_per_second=loaded.requests_per_second,
            concurrent=loaded.concurrent,
        )
    except OSError as error:
        raise UsageError(f"--port {options.port}: {error.strerror or error}") from error
    print(f"{endpoint.url}  (Ctrl-C ends it)", flush=True)
    endpoint.serve()
    return 0
