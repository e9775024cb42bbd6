"""Compilers and what they make: finding nvcc, ptxas and the host compiler, building our own C++."""
