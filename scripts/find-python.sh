#!/bin/sh
# Prints a Python that can make our virtual environment: $1 if given, else the newest of the usual names.
# Says what to install when there is none.
set -eu

usable() { [ "$("$1" -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null)" = True ]; }

chosen=""
for candidate in ${1:-python3.11 python3.12 python3.13 python3.14 python3 python}; do
  if command -v "$candidate" >/dev/null 2>&1 && usable "$candidate"; then
    chosen=$candidate
    break
  fi
done
if [ -z "$chosen" ]; then
  echo "EvoEngineer needs Python 3.11 or newer; tried: ${1:-python3.11 … python3.14, python3, python}." >&2
  echo "Debian 12, Ubuntu 24.04: apt-get install python3 python3-venv    Or: make PYTHON=/path/to/python3" >&2
  exit 1
fi
if ! "$chosen" -c 'import venv, ensurepip' 2>/dev/null; then
  version=$("$chosen" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "$chosen cannot make virtual environments: its venv module is missing." >&2
  echo "Debian, Ubuntu: apt-get install python$version-venv" >&2
  exit 1
fi
command -v "$chosen"
