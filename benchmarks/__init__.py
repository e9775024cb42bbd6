"""Speed measurements; `make bench` or `python -m benchmarks` runs them all."""
