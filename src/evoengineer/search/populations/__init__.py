"""Populations: who survives and who is a parent. One file each."""

from evoengineer.search.populations.cells import Cells
from evoengineer.search.populations.elites import Elites
from evoengineer.search.populations.islands import Islands
from evoengineer.search.populations.protocol import Choice, Population
from evoengineer.search.populations.single_best import SingleBest

__all__ = ["Cells", "Choice", "Elites", "Islands", "Population", "SingleBest"]
