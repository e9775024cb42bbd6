"""Searching for a faster kernel: guidance, operators, prompts, populations, methods, budget and the loop.

    guidance.py     what a prompt tells: I1 task, I2 solutions, I3 insights, I4 knowledge
    operators.py    guidance + phrasing + number of parents
    populations/    who survives and who is a parent
    methods.py      the paper's methods, each a short declaration
    state.py        the search so far, as a fold over what was planned and what was settled
    loop.py         proposals and judging, overlapped, settled in order

It knows proposers and judges through their protocols only.
"""
