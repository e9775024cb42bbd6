"""The sandbox: hostile programs run here, with nothing to read, nobody to talk to and little to spend.

    with start(command, run_policy(scratch, readable=[build]), pass_fds=[fd]) as process:
        ending = process.wait()

`policy.py` says what a command may do, `launching.py` tells the launcher, `process.py` starts and ends it,
`isolation.py` finds out which kinds of protection this machine offers, `environment.py` whether the machine itself was
at fault. The launcher (C++, `launcher/`) does the work. docs/sandbox.md describes what it protects from and what it
does not.
"""

from evoengineer.judge.sandbox.environment import Surroundings, from_outside
from evoengineer.judge.sandbox.isolation import Layer, layers, require_isolation
from evoengineer.judge.sandbox.policy import Policy, compile_policy, run_policy
from evoengineer.judge.sandbox.process import Completed, Exit, Sandboxed, run, start

__all__ = [
    "Completed",
    "Exit",
    "Layer",
    "Policy",
    "Sandboxed",
    "Surroundings",
    "compile_policy",
    "from_outside",
    "layers",
    "require_isolation",
    "run",
    "run_policy",
    "start",
]
