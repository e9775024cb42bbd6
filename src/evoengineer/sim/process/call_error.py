"""What ends a command early: it is itself at fault, or nobody waits for it."""


class CallError(Exception):
    """`status` (a cudaError) goes to the caller, the message to people; the context stays usable."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class ClientGone(Exception):
    """The client went away while we waited for one of its functions."""
