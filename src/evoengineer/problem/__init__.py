"""Problems: what is optimised. See `model.py` for the nouns."""

from evoengineer.problem.model import ALL_DISTRIBUTIONS, Case, CaseKind, Distribution, Problem, Tolerance

__all__ = ["ALL_DISTRIBUTIONS", "Case", "CaseKind", "Distribution", "Problem", "Tolerance"]
