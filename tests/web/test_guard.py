"""Who may ask: host names, tokens, forged requests, and what a page may start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evoengineer.archive import Archive
from evoengineer.cli import main
from evoengineer.errors import UsageError
from evoengineer.web.app import Dashboard
from evoengineer.web.guard import COOKIE, Guard, is_loopback
from evoengineer.web.work import Work, _has_open


@pytest.mark.parametrize(
    "host, known",
    [
        ("127.0.0.1:8765", True),
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("[::1]:8765", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8765", False),
        ("192.168.0.7", False),
        ("localhost:x", False),
        ("user@localhost.evil", False),
        ("", False),
    ],
)
def test_only_our_own_names_are_known(archive: Path, host: str, known: bool) -> None:
    assert Guard("127.0.0.1").knows(host) is known
    client = TestClient(Dashboard(archive, Guard("127.0.0.1")).app(), base_url="http://127.0.0.1")
    assert client.get("/", headers={"host": host}).status_code == (200 if known else 421)


def test_beyond_this_machine_any_address_or_named_host() -> None:
    guard = Guard("0.0.0.0", names=["gpu-box"], token="t" * 20)
    assert guard.knows("192.168.0.7:8765")
    assert guard.knows("gpu-box:8765")
    assert not guard.knows("evil.example")
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "gpu-box")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_a_token_is_asked_for_and_kept_in_a_cookie(archive: Path) -> None:
    token = "a-token-of-some-length"
    app = Dashboard(archive, Guard("0.0.0.0", token=token)).app()
    client = TestClient(app, base_url="http://10.0.0.5:8765", follow_redirects=False)
    for address in ("/", "/events", "/static/app.js", "/run?id=good", "/?token=wrong"):
        assert client.get(address).status_code == 401
    assert client.post("/start").status_code == 401
    entered = client.get("/run", params={"id": "good", "token": token})
    assert (entered.status_code, entered.headers["location"]) == (303, "/run?id=good")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert "SameSite=strict" in entered.headers["set-cookie"]
    assert client.get("/").status_code == 200
    client.cookies.clear()
    assert client.get("/", headers={"authorization": f"Bearer {token}"}).status_code == 200
    client.cookies.set(COOKIE, "x")
    assert client.get("/").status_code == 401
    client.cookies.clear()
    away = client.get("//evil.example/", params={"token": token})
    assert not away.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize("address", ["/start", "/stop", "/resume"])
def test_changes_need_our_own_form(client: TestClient, guard: Guard, address: str) -> None:
    form = {"id": "good", "problem": "softmax"}
    assert client.get(address).status_code == 405
    assert client.post(address, data=form).status_code == 403
    assert client.post(address, data={**form, "secret": "wrong"}).status_code == 403
    secret = {**form, "secret": guard.forgery_secret}
    elsewhere = [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
    for headers in elsewhere:
        answer = client.post(address, data=secret, headers=headers)
        assert answer.status_code == 403
    assert client.post(address, content=b"x" * 100_000).status_code == 413


def test_pages_carry_a_policy(client: TestClient) -> None:
    for address in ("/", "/run?id=good", "/static/app.js", "/nothing", "/trial"):
        headers = client.get(address).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": "/etc/passwd"},
        {"problem": "--unsafe"},
        {"method": "evil.py:M"},
        {"model": "no-such-model"},
        {"device": "sim:none"},
        {"trials": "0"},
        {"trials": "1; rm"},
        {"trials": "٣"},
        {"seed": "-1"},
    ],
)
def test_only_what_is_offered_can_be_started(archive: Path, wrong: dict[str, str]) -> None:
    right = {
        "problem": "softmax",
        "method": "full",
        "model": "rewriter",
        "device": "sim:rtx4090",
        "trials": "2",
    }
    with pytest.raises(UsageError):
        Work(archive).start({**right, **wrong})


def test_a_number_in_an_archive_is_no_reason_for_a_signal(archive: Path) -> None:
    """An archive says which process works on a run; only one that holds the run's lock is asked to stop."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with Archive(archive) as opened:
            opened.connection.execute("UPDATE sessions SET process = ?", (bystander.pid,))
            opened.connection.execute("UPDATE runs SET status = 'running'")
        work = Work(archive)
        with pytest.raises(UsageError, match="nobody works on run good"):
            work.stop("good")
        with Archive(archive) as opened, opened.lock("good") as lock:
            assert _has_open(os.getpid(), lock.path)
            with pytest.raises(UsageError, match="another machine"):
                work.stop("good")
        assert bystander.poll() is None
    finally:
        bystander.communicate(b"\n")


def test_serve_refuses_what_it_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("notes")
    assert main(["serve", "--archive", str(foreign)]) == 2
    assert "is not an archive" in capsys.readouterr().err
    assert main(["serve", "--archive", str(tmp_path / "a.db"), "--port", "70000"]) == 2
    assert main(["serve", "--archive", str(tmp_path / "a.db"), "--host", "203.0.113.1", "--port", "0"]) == 2
    assert re.search("cannot listen on 203.0.113.1", capsys.readouterr().err)
    monkeypatch.setenv("EVOENGINEER_SERVE_TOKEN", "short")
    assert main(["serve", "--archive", str(tmp_path / "a.db"), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "too short" in capsys.readouterr().err
