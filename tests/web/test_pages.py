"""The pages without a browser: what they show, what they filter, and that text stays text."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.report.made import add_run
from tests.web.conftest import HOSTILE

from evoengineer.web.app import Dashboard
from evoengineer.web.guard import Guard


def test_the_list_of_runs_and_its_filters(client: TestClient) -> None:
    page = client.get("/").text
    assert "3 runs" in page
    assert ">good</a>" in page
    assert "2.00x" in page
    assert "1 runs" in client.get("/", params={"q": "FULL/m"}).text
    assert "0 runs" in client.get("/", params={"status": "running"}).text
    assert "0 runs" in client.get("/", params={"q": "no such"}).text


def test_many_runs_come_in_parts(tmp_path: Path, guard: Guard) -> None:
    for number in range(205):
        add_run(tmp_path / "a.db", f"run-{number:03}", [])
    client = TestClient(Dashboard(tmp_path / "a.db", guard).app(), base_url="http://localhost")
    first = client.get("/").text
    assert "page 1 of 3" in first
    assert "run-204" in first
    assert "run-104" not in first
    assert "run-104" in client.get("/", params={"page": "2"}).text
    assert "page 3 of 3" in client.get("/", params={"page": "99999"}).text
    assert client.get("/", params={"page": "-1' OR 1"}).status_code == 200


def test_a_run_with_its_totals_and_points(client: TestClient) -> None:
    page = client.get("/run", params={"id": "good"}).text
    for text in ("4 / 4", "2.00x", "75.0%", "100.0%", "best: proposal 3", "kernel 4"):
        assert text in page
    points = client.get("/run/points", params={"id": "good"}).json()
    assert points["nodes"][0] == [0, 0, 1.0, "valid", 1, 0, 0]
    assert points["nodes"][2] == [2, 2, None, "wrong", 0, 100, 1000]
    assert points["edges"] == [[1, 0], [2, 1], [3, 1], [3, 0], [4, 3]]
    later = client.get("/run/points", params={"id": "good", "after": "3"}).json()
    assert [node[0] for node in later["nodes"]] == [4]
    wrong = client.get("/run", params={"id": "good", "outcome": "wrong"}).text
    assert "1 proposals" in wrong
    fastest = client.get("/run", params={"id": "good", "sort": "fastest"}).text
    assert fastest.index("kernel 3") < fastest.index("kernel 4") < fastest.index("kernel 1")
    assert "1 proposals" in client.get("/run", params={"id": "good", "q": "THOUGHT 2"}).text


def test_the_beginning_of_a_name_leads_to_the_run(client: TestClient) -> None:
    answer = client.get("/run", params={"id": "goo"})
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("/run?id=good")


def test_a_trial_in_full(client: TestClient) -> None:
    page = client.get("/trial", params={"run": "good", "n": "3"}).text
    for text in (
        "prompt 3 of good",
        "reply 3",
        "thought 3",
        "made valid",
        "a profile of 50",
        "parent 1",
        "the baseline",
    ):
        assert text in page
    assert '<span class="linenos">1</span>' in page
    assert '<span class="gi">+// kernel 3 of good' in page


def test_two_kernels_and_two_runs_compared(client: TestClient) -> None:
    page = client.get("/compare", params={"a": "good", "an": "3", "b": "good", "bn": "4"}).text
    assert "a profile of 50" in page
    assert "a profile of 60" in page
    assert '<span class="gd">-// kernel 3 of good' in page
    page = client.get("/compare", params={"run": ["good", "b/s/f/toy/full/m/0"]}).text
    assert "2.50x" in page
    assert "Compare their best kernels" in page


@pytest.mark.parametrize(
    "address, parameters",
    [
        ("/", {}),
        ("/", {"q": HOSTILE}),
        ("/run", {"id": HOSTILE}),
        ("/run", {"id": "good", "q": HOSTILE, "outcome": HOSTILE, "sort": HOSTILE}),
        ("/run", {"id": "no" + HOSTILE}),
        ("/trial", {"run": HOSTILE, "n": "1"}),
        ("/compare", {"a": HOSTILE, "an": "1", "b": HOSTILE, "bn": "0"}),
        ("/compare", {"run": [HOSTILE]}),
    ],
)
def test_hostile_text_is_text(client: TestClient, address: str, parameters: dict[str, str]) -> None:
    page = client.get(address, params=parameters).text
    assert "<img" not in page
    assert "window.fooled = 1</script" not in page
    assert page.count("<script") == page.count("</script>") <= 4
    assert "49" not in page.replace("window.fooled", "").split("<main")[0]


@pytest.mark.parametrize(
    "address",
    [
        "/trial",
        "/trial?run=good",
        "/trial?run=good&n=99",
        "/trial?run=good&n=-1",
        "/run?id=zzz",
        "/run/points?id=z",
    ],
)
def test_what_is_not_there_is_said(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert "That did not work" in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "/etc/passwd",
        "style.css/../../app.py",
        "vendor",
        "LICENSE",
    ],
)
def test_no_file_but_those_named_is_served(client: TestClient, name: str) -> None:
    answer = client.get(f"/static/{name}")
    assert answer.status_code == 404
    assert "Dashboard" not in answer.text
    assert client.get("/static/style.css").status_code == 200


def test_an_archive_that_is_not_there_yet_is_not_made(tmp_path: Path, guard: Guard) -> None:
    client = TestClient(Dashboard(tmp_path / "none.db", guard).app(), base_url="http://localhost")
    assert "No runs" in client.get("/").text
    assert client.get("/run?id=x").status_code == 400
    assert list(tmp_path.iterdir()) == []
