"""Keeps the examples in README.md and docs/ true: runs each `console` block's command and puts its output there.

    python scripts/refresh_docs.py            rewrite the files
    python scripts/refresh_docs.py --check    only say which blocks are out of date; exit 1 if any is

A block starts with `$ ` and one `evoengineer` command, run from the repository's root with stdout and stderr
together, followed by its output. A block whose output ends with `…` is compared up to there.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^```console\n\$ (?P<command>evoengineer [^\n]*)\n(?P<output>.*?)^```$", re.DOTALL | re.MULTILINE
)


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(command: str) -> str:
    """What the command prints; stdout after stderr, since programs write the former when they end."""
    words = [sys.executable, "-m", "evoengineer", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    output = done.stderr + done.stdout
    if "cannot start" in output or "internal error" in output:
        raise SystemExit(f"{command}: this is no example to show:\n{output}")
    return output


def refreshed(block: re.Match[str]) -> str:
    output = run(block["command"])
    kept, ellipsis, _ = block["output"].partition("…\n")
    if ellipsis and output.startswith(kept):
        output = block["output"]
    return f"```console\n$ {block['command']}\n{output.rstrip()}\n```"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples in the documentation again.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    stale = 0
    for document in documents():
        text = document.read_text()
        for block in BLOCK.finditer(text):
            new = refreshed(block)
            if new != block[0]:
                stale += 1
                print(f"{document.relative_to(ROOT)}: out of date: {block['command']}")
                text = text.replace(block[0], new)
        if not check:
            document.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
