"""From source text to something that runs: finding the compilers and calling them."""
