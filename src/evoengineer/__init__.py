"""EvoEngineer: evolve CUDA kernels and judge them, with or without a GPU.

Importing the package is cheap: it pulls in neither torch nor LLVM. Import the sub-package you need.
"""

__version__ = "0.1.0"
