"""Problems: what is optimised. See `model.py` for the nouns."""

from evoengineer.problem.model import Case, CaseKind, Distribution, Problem, Tolerance

__all__ = ["Case", "CaseKind", "Distribution", "Problem", "Tolerance"]
