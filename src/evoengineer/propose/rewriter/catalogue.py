"""All rewrites, in a fixed order."""

from __future__ import annotations

from evoengineer.propose.rewriter.block_scan import BlockScan
from evoengineer.propose.rewriter.block_shape import BlockShape
from evoengineer.propose.rewriter.block_size import BlockSize
from evoengineer.propose.rewriter.change import Rewrite
from evoengineer.propose.rewriter.collected import Collected
from evoengineer.propose.rewriter.fast_math import FastMath
from evoengineer.propose.rewriter.fusing import Fusing
from evoengineer.propose.rewriter.grid_size import GridSize
from evoengineer.propose.rewriter.grouped_launch import GroupedLaunch
from evoengineer.propose.rewriter.keep_row import KeepRow
from evoengineer.propose.rewriter.reciprocal import Reciprocal
from evoengineer.propose.rewriter.restrict import Restrict
from evoengineer.propose.rewriter.row_split import RowSplit
from evoengineer.propose.rewriter.settings import Settings
from evoengineer.propose.rewriter.shared_sum import SharedSum
from evoengineer.propose.rewriter.short_rows import ShortRows
from evoengineer.propose.rewriter.shuffle_scan import ShuffleScan
from evoengineer.propose.rewriter.shuffle_tail import ShuffleTail
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.rewriter.unroll import Unroll, UnrollAll
from evoengineer.propose.rewriter.warp_per_row import WarpPerRow

REWRITES: tuple[Rewrite, ...] = (
    Fusing(),
    Tiling(),
    RowSplit(),
    KeepRow(),
    ShortRows(),
    WarpPerRow(),
    SharedSum(),
    BlockScan(),
    Collected(),
    Settings(),
    BlockSize(),
    BlockShape(),
    Unroll(),
    UnrollAll(),
    Restrict(),
    FastMath(),
    Reciprocal(),
    ShuffleTail(),
    ShuffleScan(),
    GroupedLaunch(),
    GridSize(),
)
