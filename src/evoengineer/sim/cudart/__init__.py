"""The program's side of the simulated GPU: a libcudart of our own, in C++."""
