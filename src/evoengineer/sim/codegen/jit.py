"""LLVM IR → machine code in this process.

Code is compiled to relocatable objects, which image.py keeps on disk; linking an object takes about a
millisecond. Runtime functions (rt_*) are resolved from the process, where native.py has loaded them.
"""

from __future__ import annotations

import functools
import itertools
import threading

import llvmlite.binding as llvm

from evoengineer.sim.codegen.assembler import Processor, processor_of

_serial = itertools.count()
_lock = threading.Lock()


# Vectors of a warp fill the registers: schedulers that move instructions apart cost more in spills than they gain, and
# take a third of the time. The order of the PTX is nvcc's own.
_LLVM_OPTIONS = ("-enable-misched=false", "-pre-RA-sched=fast")


@functools.cache
def _target_machine(quick: bool = False) -> llvm.TargetMachine:
    """`quick`: less time for making the code, more for running it."""
    if quick:
        _target_machine()  # sets LLVM up
    else:
        for option in _LLVM_OPTIONS:
            llvm.set_option("evoengineer", option)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=0 if quick else 1,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


@functools.cache
def _linker() -> llvm.orcjit.LLJIT:
    _target_machine()
    return llvm.create_lljit_compiler(_target_machine(), use_jit_link=True)


def host_key() -> str:
    """Objects may be reused only on the same kind of processor and LLVM."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_host_cpu_name()} {features} {llvm.llvm_version_info} {_LLVM_OPTIONS}"


@functools.cache
def processor() -> Processor | None:
    """What assembler.py writes code for; None if it cannot."""
    return processor_of(llvm.get_host_cpu_features().flatten())


def compile_ir(text: str, quick: bool = False) -> bytes:
    """One LLVM module → object code; `quick`, if it will not run for long. Raises RuntimeError with LLVM's message if
    the IR is wrong."""
    with _lock:
        machine = _target_machine(quick)
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        passes = llvm.create_new_function_pass_manager()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
        return bytes(machine.emit_object(module))


def link(code: bytes, names: list[str]) -> tuple[object, dict[str, int]]:
    """Load an object; returns a handle that keeps it alive, and the addresses of `names`."""
    with _lock:
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(code)
        builder.add_current_process()
        for name in names:
            builder.export_symbol(name)
        library = builder.link(_linker(), f"unit{next(_serial)}")
        return library, {name: library[name] for name in names}
