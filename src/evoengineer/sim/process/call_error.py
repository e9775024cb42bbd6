"""A command that is itself at fault, and CUDA's numbers for what can be."""

INVALID_VALUE, OUT_OF_MEMORY = 1, 2  # cudaError
INVALID_IMAGE, NO_KERNEL_IMAGE, INVALID_PTX = 200, 209, 218
INVALID_HANDLE, LAUNCH_FAILURE, NOT_SUPPORTED, UNKNOWN = 400, 719, 801, 999


class CallError(Exception):
    """`status` (a cudaError) goes to the caller, the message to people; the context stays usable."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class ClientGone(Exception):
    """The client went away while we waited for one of its functions."""
