"""Basic blocks of PTX → LLVM IR, in the FAST and SLOW forms that runtime/abi.h describes."""
