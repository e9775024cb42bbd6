"""What must be the same on every node, and which nodes are refused."""

from __future__ import annotations

import pytest

from evoengineer.cluster.facts import Facts, Node, differences, facts_here, refusals, versions_here
from evoengineer.cluster.pool import Cluster
from evoengineer.errors import UsageError
from evoengineer.judge.options import JudgeOptions

HERE = {"evoengineer": "1.0", "nvcc": "13.0.88", "evoengineer's sources": "aa"}


def refused(node: Node, **how: object) -> list[str]:
    return refusals(node, HERE, **{"gpu": False, "card": "", "unsafe": False, **how})  # type: ignore[arg-type]


def test_this_machine_is_like_itself() -> None:
    facts = facts_here()
    assert differences(versions_here(), facts.versions) == []
    assert facts.versions["nvcc"][0].isdigit()


def test_both_versions_are_named() -> None:
    assert differences(HERE, {**HERE, "nvcc": "12.8.1"}) == ["nvcc 12.8.1 there, 13.0.88 here"]
    assert differences(HERE, {"evoengineer": "1.0", "evoengineer's sources": "aa"}) == [
        "nvcc none there, 13.0.88 here"
    ]


def test_changed_sources_of_one_version() -> None:
    assert differences(HERE, {**HERE, "evoengineer's sources": "bb"}) == [
        "evoengineer's sources bb there, aa here"
    ]


def test_isolation() -> None:
    node = Node("1", "one", 2, facts=Facts(HERE, exposed="network"))
    assert "not isolated from the network" in refused(node)[0]
    assert refused(node, unsafe=True) == []


def test_cards_are_not_mixed() -> None:
    node = Node("1", "one", 2, gpus=1, card="H100", facts=Facts(HERE))
    assert refused(node, gpu=True, card="H100") == []
    assert refused(node, gpu=True, card="A100") == ["its card is H100, this experiment's is A100"]
    assert refused(Node("2", "two", 2, facts=Facts(HERE)), gpu=True) == ["it has no GPU"]


@pytest.mark.parametrize("address", ["", "somewhere", "10.0.0.1", "host:port", "none"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="write HOST:PORT, auto"):
        Cluster(address, JudgeOptions(run_seed=1))


def test_a_silent_node() -> None:
    assert refused(Node("1", "one", 2, silence="it cannot run this package: no module")) == [
        "it cannot run this package: no module"
    ]
