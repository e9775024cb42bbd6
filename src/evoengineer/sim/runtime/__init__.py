"""What runs kernels: warps, memory and checks in C++, and the Python side that builds, loads and calls it."""
