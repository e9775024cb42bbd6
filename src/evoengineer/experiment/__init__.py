"""A run and a bench as objects: what `evolve` and `bench` do, without printing."""
