"""The simulated GPU: PTX translated to machine code, run in a process of its own.

session.py   a CUDA program against it          device.py    kernels from Python
cudart/      the program's side (C++)           server.py    the device process's side
ptx/ codegen/ jit.py image.py engine.py         from PTX to running kernels
runtime/     warps, memory, checks (C++)        native.py    building and loading C++
"""
