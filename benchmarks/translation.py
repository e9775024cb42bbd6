"""CPU time of translating unrolled kernels, form by form and step by step, beside another checkout.

    python -m benchmarks.translation                        # this tree
    python -m benchmarks.translation --before OTHER_TREE    # beside another checkout, in turn
    python -m benchmarks.translation --kernels FOLDER       # of the .cu files there, too
    python -m benchmarks.translation --write                # also puts the table into docs/simulator-speed.md

The kernels are the products and the convolution of register_tiles.cu and unrolled.cu, and those of a folder's files, if
they have at least as many PTX instructions as `--least` says. All code of a form is translated, in a process of its own
with an empty cache, and linked; nothing is run. Reading the PTX and finding the forms of its values is done for every
form anew, as it is by a launch. In CPU time of one thread; each form is done in several processes, the best counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.trees import REPORT, ROOT, in_tree, report

_BESIDE_FAST = ("SLOW", "counted")  # forms that are translated where FAST has been
FORMS = ("FAST", *_BESIDE_FAST, "race checks", "undefined values")
STEPS = {"parse": "LLVM reads IR", "passes": "its passes", "code": "its code generation", "link": "linking"}
OWN = "ours"  # everything else
_SM_COUNT = 128


def measure(form: str, texts: Path, least: int) -> dict[str, Any]:
    """CPU seconds by kernel and step, in this process."""
    seconds: Counter[str] = Counter()
    _watch(seconds)
    from evoengineer.files import CACHE_VARIABLE
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.codegen.program import link
    from evoengineer.sim.runtime.native import load_runtime

    load_runtime()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="translation-") as cache:
        os.environ[CACHE_VARIABLE] = cache  # the runtime has been loaded; kernels are not known yet
        _blocks(_image(KernelImage, link([_WARM]), "warm", form), form)  # LLVM itself is set up once
        for path in sorted(texts.glob("*.ptx")):
            module = link([path.read_text(encoding="utf-8")])
            for kernel in module.kernels:
                if kernel.text.count(";") < least:
                    continue
                image = _image(KernelImage, module, kernel.name, form) if form in _BESIDE_FAST else None
                seconds.clear()
                begin = time.process_time()
                image = image or _image(KernelImage, module, kernel.name, form)
                if form != "FAST":
                    _blocks(image, form)
                whole = time.process_time() - begin
                steps = {step: seconds[step] for step in STEPS}
                ours = whole - sum(steps.values())
                about = {"instructions": image.plan.instructions, OWN: ours, **steps}
                found[f"{path.stem} {kernel.name}"] = about
    return found


def _image(image_type: Any, module: Any, kernel: str, form: str) -> Any:
    """A kernel for blocks of the size that it is made for."""
    threads = module.functions[kernel].max_threads or 256
    checked, undefined = form not in ("FAST", *_BESIDE_FAST), form == "undefined values"
    return image_type(module, kernel, (threads, 1, 1), "optimised", checked, _SM_COUNT, undefined)


def _blocks(image: Any, form: str) -> None:
    """All code besides FAST."""
    from evoengineer.sim.codegen import abi

    for function in image.plan.functions:
        for group in function.groups:
            image.compile_block(function.number, group[0] | (abi.COUNT_FORM if form == "counted" else 0))


_WARM = """.version 8.0
.target sm_89
.address_size 64
.visible .entry warm(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


def _watch(seconds: Counter[str]) -> None:
    """Time LLVM's steps where llvmlite enters them."""
    import llvmlite.binding as llvm
    from llvmlite.binding import newpassmanagers, orcjit

    def timed(owner: Any, name: str, step: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def wrapper(*args: Any, **named: Any) -> Any:
            begin = time.process_time()
            try:
                return original(*args, **named)
            finally:
                seconds[step] += time.process_time() - begin

        setattr(owner, name, wrapper)

    timed(llvm, "parse_assembly", "parse")
    timed(newpassmanagers.FunctionPassManager, "run", "passes")
    timed(newpassmanagers.ModulePassManager, "run", "passes")
    timed(llvm.TargetMachine, "emit_object", "code")
    timed(orcjit.JITLibraryBuilder, "link", "link")


def ptx_texts(folder: Path, sources: list[Path]) -> None:
    """What nvcc makes of them, as the judge has it made."""
    from evoengineer.kernel.build import Build, build_kernel

    for number, source in enumerate(sources):
        build = build_kernel(source.read_text(encoding="utf-8"), sm=89)
        if not isinstance(build, Build):
            print(f"{source} is left out: {build.outcome}", file=sys.stderr)
            continue
        text = build.ptx.read_text(encoding="utf-8")
        name = f"{number:03}-{source.parent.name}-{source.stem}"
        (folder / f"{name}.ptx").write_text(text, encoding="utf-8")


def total(found: dict[str, Any]) -> dict[str, float]:
    """All kernels together."""
    return {step: sum(each[step] for each in found.values()) for step in (OWN, *STEPS)}


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return min(runs, key=lambda run: sum(total(run).values()))


def table(after: dict[str, Any], before: dict[str, Any] | None, kernels: str) -> str:
    """The measurements as a Markdown table."""
    head = ["before s", "now s", "speedup", OWN, *STEPS.values()]
    lines = [f"| {kernels} | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for form, kernels_of_form in after.items():
        now = total(kernels_of_form)
        whole = sum(now.values())
        then = sum(total(before[form]).values()) if before else 0.0
        cells = [f"{then:.2f}" if before else "–", f"{whole:.2f}", f"{then / whole:.1f}×" if before else "–"]
        lines.append(f"| {form} | {' | '.join(cells)} | {' | '.join(f'{now[x]:.2f}' for x in now)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--kernels", type=Path, action="append", default=[], help="a folder of .cu files")
    parser.add_argument("--least", type=int, default=1000, help="PTX instructions")
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=FORMS)
    parser.add_argument("--rounds", type=int, default=2, help="the best counts")
    parser.add_argument("--each", action="store_true", help="also print every kernel")
    parser.add_argument("--write", action="store_true", help=f"write to {REPORT.relative_to(ROOT)}")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        form, texts = options.child
        print(json.dumps(measure(form, Path(texts), options.least)))
        return 0
    here = Path(__file__).parent
    sources = [here / "register_tiles.cu", here / "unrolled.cu"]
    sources += [path for folder in options.kernels for path in sorted(folder.glob("*.cu"))]
    trees = {"before": options.before, "now": ROOT}
    found: dict[str, dict[str, Any]] = {"before": {}, "now": {}}
    with tempfile.TemporaryDirectory() as scratch:
        ptx_texts(Path(scratch), sources)
        for form in options.forms:
            runs: dict[str, list[dict[str, Any]]] = {"before": [], "now": []}
            for _ in range(options.rounds):
                for name, tree in trees.items():
                    if tree is not None:
                        child = ("--child", form, scratch, "--least", str(options.least))
                        runs[name].append(in_tree(tree.resolve(), "translation", *child))
            for name in trees:
                if runs[name]:
                    found[name][form] = best(runs[name])
    after, before = found["now"], found["before"] or None
    if options.each:
        for form, kernels in after.items():
            for kernel, steps in kernels.items():
                print(form, kernel, *(f"{name} {value:.3f}" for name, value in steps.items()))
    counts = [each["instructions"] for each in next(iter(after.values())).values()]
    text = table(after, before, f"{len(counts)} kernels of {min(counts)} to {max(counts)} PTX instructions")
    print(text)
    if options.write:
        report("translation", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
