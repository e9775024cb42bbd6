"""`python -m evoengineer` is the same as the `evoengineer` command."""

import sys

from evoengineer.cli import main

if __name__ == "__main__":
    sys.exit(main())
