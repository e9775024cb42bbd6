"""What these tests allocate is given back after each file.

They ask for gigabytes of simulated memory and touch little of it. A later test in the same process that follows which
memory was written would have a byte for each of theirs, and more than the machine has.
"""

from collections.abc import Iterator

import pytest

from evoengineer.sim.runtime import native


@pytest.fixture(scope="module", autouse=True)
def memory_given_back() -> Iterator[None]:
    yield
    native.Memory().renew()
