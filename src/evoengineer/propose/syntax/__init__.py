"""A small understanding of CUDA texts: syntax trees, kernels with their launches, nests of outputs, knobs.

Nothing here changes a text. What is not understood raises `NotUnderstood` with the reason, and is left alone.
"""
