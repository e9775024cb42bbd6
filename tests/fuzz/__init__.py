"""Differential fuzzing of the simulated GPU: random CUDA kernels against a C++ emulation.

python -m tests.fuzz.runner --kernels 1000 --seed 1
"""
