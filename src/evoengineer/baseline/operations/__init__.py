"""ATen's operations as calls of the library's functions: one C++ expression for each.

`OPERATIONS` names a writer for each operation; what is in `formulas.py` needs none. `Writing` is what a writer sees:
it names values, writes numbers and remembers which parts of the library are used.
"""

from __future__ import annotations

from collections.abc import Mapping

from evoengineer.baseline.operations import layers, placing, pointwise, reductions, views
from evoengineer.baseline.operations.writing import Writer

OPERATIONS: Mapping[str, Writer] = {
    **pointwise.OPERATIONS,
    **reductions.OPERATIONS,
    **layers.OPERATIONS,
    **placing.OPERATIONS,
    **views.OPERATIONS,
}
