"""PTX text → modules, functions, basic blocks. Knows nothing of LLVM or of the device."""
