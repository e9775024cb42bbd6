"""The README shows what its commands really print.

The examples in docs/errors.md are programs of tests/programs, whose messages are tested there; `make docs` runs
them again.
"""

import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "refresh_docs.py"
_spec = importlib.util.spec_from_file_location("refresh_docs", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
refresh_docs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh_docs)

BLOCKS = [
    block
    for document in refresh_docs.documents()
    for block in refresh_docs.BLOCK.finditer(document.read_text())
]


@pytest.mark.parametrize("block", BLOCKS, ids=[block["command"].split("/")[-1] for block in BLOCKS])
def test_example_is_up_to_date(block: re.Match[str]) -> None:
    assert block[0] == refresh_docs.refreshed(block), "run scripts/refresh_docs.py"


def test_every_console_block_is_found() -> None:
    """One that the script does not recognise would never be refreshed."""
    for document in refresh_docs.documents():
        text = document.read_text()
        assert text.count("```console") == len(refresh_docs.BLOCK.findall(text)), document
