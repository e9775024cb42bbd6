"""The reference: PyTorch's results, computed in a process of its own."""
