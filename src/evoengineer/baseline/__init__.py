"""Baseline kernels made from a reference: its ATen calls, one plain kernel of `library/` after the other.

`trace.py` records the calls, `formulas.py` and `operations/` know how each is written, `text.py` puts the kernel
together. Imports torch: `generate.py` is a process of its own.
"""
