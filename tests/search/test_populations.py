"""Populations: distinct parents, survivors, islands that really are apart."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoengineer.search.populations import Cells, Elites, Islands, Population, SingleBest
from evoengineer.search.populations.islands import softmax
from evoengineer.search.records import Member

times = st.lists(st.floats(0.5, 1000), min_size=0, max_size=60)


def member(number: int, time_us: float, source: str = "x") -> Member:
    return Member(number, source, f"k{number}", "", time_us, (time_us, time_us), 100 / time_us)


def fill(population: Population, values: list[float]) -> list[Member]:
    members = [member(0, 100.0), *(member(number, value) for number, value in enumerate(values, 1))]
    population.seed(members[0])
    for each in members[1:]:
        islands = len(population.islands) if isinstance(population, Islands) else 1
        population.add(each, each.number % islands)
    return members


@given(times, st.integers(0, 6), st.integers(0, 1000))
@pytest.mark.parametrize("kind", ["single", "elites", "islands", "cells"])
def test_parents_are_distinct_members_best_first(
    kind: str, values: list[float], count: int, seed: int
) -> None:
    population: Population = {
        "single": SingleBest(),
        "elites": Elites(4),
        "islands": Islands(3, reset_every=7, migrate_every=5),
        "cells": Cells(),
    }[kind]  # type: ignore[assignment]
    members = fill(population, values)
    choice = population.choose(count, Random(seed))
    numbers = [parent.number for parent in choice.parents]
    assert len(set(numbers)) == len(numbers) <= count
    assert all(parent in members for parent in choice.parents)
    assert [parent.time_us for parent in choice.parents] == sorted(
        parent.time_us for parent in choice.parents
    )
    assert population.choose(count, Random(seed)) == choice, "choosing changes nothing"


@given(times)
def test_single_best_and_elites_keep_the_fastest(values: list[float]) -> None:
    single, elites = SingleBest(), Elites(4)
    members = fill(single, values)
    fill(elites, values)
    ranked = sorted(members, key=lambda each: (each.time_us, each.number))
    assert single.best == ranked[0]
    assert elites.members == ranked[:4]


def test_elites_draw_both_parents_without_replacement() -> None:
    elites = Elites(4)
    fill(elites, [50.0, 60.0])
    assert all(len(elites.choose(2, Random(seed)).parents) == 2 for seed in range(50))


def test_the_baseline_is_no_second_parent_once_a_faster_kernel_exists() -> None:
    slower, faster = Elites(4), Elites(4)
    fill(slower, [150.0, 160.0])
    fill(faster, [50.0, 160.0])
    pairs = [{each.number for each in slower.choose(2, Random(seed)).parents} for seed in range(50)]
    assert {0, 1} in pairs, "it is the best there is"
    assert all(
        {each.number for each in faster.choose(2, Random(seed)).parents} == {1, 2} for seed in range(50)
    )
    only = Elites(4)
    fill(only, [50.0])
    assert [each.number for each in only.choose(2, Random(0)).parents] == [1]


def test_every_elite_is_drawn_sometimes_and_the_best_most_often() -> None:
    elites = Elites(4)
    fill(elites, [10.0, 20.0, 30.0])
    drawn = [elites.choose(1, Random(seed)).parents[0].number for seed in range(400)]
    counts = [drawn.count(number) for number in (1, 2, 3, 0)]
    assert all(counts)
    assert counts[0] == max(counts)


def test_islands_evolve_apart() -> None:
    islands = Islands(3, reset_every=0)
    islands.seed(member(0, 100))
    islands.add(member(1, 50), 1)
    parents = {seed: islands.choose(2, Random(seed)) for seed in range(60)}
    assert {choice.island for choice in parents.values()} == {0, 1, 2}
    for choice in parents.values():
        assert (1 in [parent.number for parent in choice.parents]) == (choice.island == 1)


def test_a_reset_refounds_the_weaker_half_from_a_survivor() -> None:
    islands = Islands(4, reset_every=4)
    islands.seed(member(0, 100))
    for number, (time_us, island) in enumerate([(10, 0), (20, 1), (90, 2), (80, 3)], 1):
        islands.add(member(number, time_us), island)
    assert [island.best.number for island in islands.islands[:2] if island.best] == [1, 2]
    for island in islands.islands[2:]:
        assert island.best is not None
        assert island.best.number in (1, 2)
        assert island.count == 1


def test_migration_copies_each_best_to_the_neighbour() -> None:
    islands = Islands(3, reset_every=0, migrate_every=1)
    islands.seed(member(0, 100))
    islands.add(member(1, 50), 0)
    assert [island.best.number for island in islands.islands if island.best] == [1, 1, 0]


def test_faster_clusters_are_preferred_and_shorter_texts_within_one() -> None:
    islands = Islands(1, reset_every=0)
    islands.seed(member(0, 100, "x" * 1000))
    islands.add(member(1, 60, "x" * 1000), 0)
    drawn = [islands.choose(1, Random(seed)).parents[0].number for seed in range(300)]
    assert drawn.count(1) > 250
    islands.add(member(2, 60.1, "x" * 10), 0)
    drawn = [islands.choose(1, Random(seed)).parents[0].number for seed in range(300)]
    assert drawn.count(2) > drawn.count(1) > 20


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(0.001, 10))
def test_softmax_is_a_distribution(scores: list[float], temperature: float) -> None:
    weights = softmax(scores, temperature)
    assert sum(weights) == pytest.approx(1)
    assert weights[scores.index(max(scores))] == max(weights)


def test_a_population_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one kernel, not 0"):
        Elites(0)
