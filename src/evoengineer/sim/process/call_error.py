"""A command that is itself at fault."""

INVALID_VALUE, OUT_OF_MEMORY = 1, 2  # cudaError


class CallError(Exception):
    """`status` (a cudaError) goes to the caller, the message to people; the context stays usable."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status
