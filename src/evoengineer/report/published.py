"""The paper's published figures, to stand beside ours: arXiv 2510.03760, best model of each method.

They were measured on an RTX 4090 with other kernels than ours, and are no target of a simulated run.
"""

from __future__ import annotations

from dataclasses import dataclass

DEVICE = "RTX 4090 (measured), 91 kernels, 45 trials, the paper's"


@dataclass(frozen=True, slots=True)
class Published:
    method: str  # by our name
    label: str  # by the paper's
    model: str
    speedup: float  # "averaged median speedup" over the baseline kernel
    functional: float  # shares of trials
    compile: float


FIGURES = (
    Published("ai-cuda-engineer", "AI CUDA Engineer", "GPT-4.1", 1.19, 0.594, 0.840),
    Published("funsearch", "FunSearch", "GPT-4.1", 1.34, 0.532, 0.738),
    Published("solution", "EvoEngineer-Solution (EoH)", "GPT-4.1", 1.57, 0.537, 0.747),
    Published("free", "EvoEngineer-Free", "Claude-Sonnet-4", 2.72, 0.522, 0.741),
    Published("insight", "EvoEngineer-Insight", "GPT-4.1", 1.60, 0.600, 0.822),
    Published("full", "EvoEngineer-Full", "GPT-4.1", 1.20, 0.698, 0.875),
)
