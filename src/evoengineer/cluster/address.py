"""How users name a cluster: HOST:PORT, `auto` or `local`."""

from __future__ import annotations

import re

from evoengineer.errors import UsageError

LOCAL = "local"  # a new one on this machine
AUTO = "auto"  # the one that this machine belongs to
_ADDRESS = re.compile(r"(ray://)?[^\s:/]+:\d{1,5}")


def check_address(address: str) -> None:
    """Refuse what cannot be one."""
    if address not in (LOCAL, AUTO) and not _ADDRESS.fullmatch(address):
        raise UsageError(
            f"{address!r} is no cluster: write HOST:PORT, {AUTO} (this machine's) or {LOCAL} (a new one)"
        )
