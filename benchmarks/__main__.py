"""`python -m benchmarks`: every benchmark in turn."""

import sys

from benchmarks.simulator_speed import main

sys.exit(main())
