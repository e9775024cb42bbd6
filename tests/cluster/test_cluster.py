"""Judging on three real nodes: the same answers as here, whatever happens to nodes, judges and drivers."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster as RayCluster
from tests.cluster.conftest import TRIALS, add_node, kernel, three_nodes, until, write_problem

import evoengineer
from evoengineer import evolve, resume
from evoengineer.archive.canonical import digest
from evoengineer.archive.store import Archive
from evoengineer.card.name import DeviceName
from evoengineer.cluster.pool import Cluster, ClusterPool
from evoengineer.errors import EvoEngineerError
from evoengineer.experiment.evolving import new_settings
from evoengineer.experiment.run import Run
from evoengineer.judge.options import JudgeOptions
from evoengineer.problem.catalog import find_problem
from evoengineer.search.progress import Progress, Silent

PACKAGE = Path(evoengineer.__file__).parent
OPTIONS = JudgeOptions(run_seed=11, use_cache=False)


def settings(problem: Path, recording: Path, archive: Path, **others: Any) -> dict[str, Any]:
    return {
        **{"problem": str(problem), "replay": str(recording), "match": "order", "trials": TRIALS},
        **{"judge_seed": 11, "seed": 3, "archive": archive, **others},
    }


def digest_of(run: Run) -> str:
    with Archive(run.archive) as archive:
        return digest(archive, run.id)


def test_same_digests_as_here(cluster: RayCluster, problem: Path, recording: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive.db"
    with Cluster(cluster.address, OPTIONS) as opened:
        pool = ClusterPool(opened, find_problem(problem))
        for method in ("free", "insight", "full"):
            given = settings(problem, recording, archive, method=method)
            here = evolve(**given, name=f"here-{method}")
            del given["archive"]
            there = Run.create(new_settings(given), archive, f"there-{method}")
            there.work(judge=pool)
            assert there.status == here.status == "finished"
            assert there.summary.outcomes == here.summary.outcomes
            assert digest_of(there) == digest_of(here)


def test_a_node_removed_in_mid_run_and_one_added(
    cluster: RayCluster, problem: Path, signals: Path, tmp_path: Path
) -> None:
    """Every judge holds a candidate while its node is killed: all are judged, those of the dead node elsewhere."""
    sources = [kernel(32 * k) for k in range(2, 8)]
    description = find_problem(problem)
    with Cluster(cluster.address, OPTIONS) as opened:
        pool = ClusterPool(opened, description)
        assert pool.judge_baseline().valid
        until(lambda: pool.standing().judges == 3)
        (signals / "wait").touch()
        judged = [pool.judge(source) for source in sources]
        until(lambda: pool.standing().under_way == len(sources))
        # Not the node that this driver belongs to: without that one it has no cluster.
        removed = next(node for node in cluster.worker_nodes if node.node_id != opened.home)
        cluster.remove_node(removed, allow_graceful=False)
        until(lambda: pool.standing().nodes == 2)
        assert pool.standing().under_way == len(sources)
        add_node(cluster, num_cpus=2)
        until(lambda: pool.standing().nodes == 3)
        (signals / "wait").unlink()
        assert all(each.result(timeout=300).valid for each in judged)
        until(lambda: pool.standing().under_way == 0)


def test_who_kills_its_judge_three_times_gets_its_verdict(
    cluster: RayCluster, tmp_path: Path, signals: Path
) -> None:
    description = find_problem(write_problem(tmp_path / "bare", signals, baseline=False))
    with Cluster(cluster.address, OPTIONS) as opened:
        pool = ClusterPool(opened, description)
        (signals / "kill").touch()
        verdict = pool.judge(kernel(64)).result(timeout=300)
        assert verdict.outcome == "crashed"
        assert "died 3 times" in verdict.summary
        (signals / "kill").unlink()
        assert pool.judge(kernel(128)).result(timeout=300).valid


def processes_with(variable: str) -> list[int]:
    """Processes, of anybody, that were started with this in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and variable.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_the_driver_is_killed_and_resumed(
    cluster: RayCluster, problem: Path, recording: Path, signals: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive.db"
    mark = f"EVOENGINEER_TEST_MARK={tmp_path.name}-{os.getpid()}"
    command = [
        *(sys.executable, "-m", "evoengineer", "evolve", str(problem), "--replay", str(recording)),
        *(
            "--match",
            "order",
            "--trials",
            str(TRIALS),
            "--judge-seed",
            "12",
            "--seed",
            "3",
            "--method",
            "full",
        ),
        *("--archive", str(archive), "--name", "there", "--cluster", cluster.address, "--plain"),
    ]
    name, _, value = mark.partition("=")
    driver = subprocess.Popen(command, env={**os.environ, name: value}, stdout=subprocess.DEVNULL)
    try:
        until(lambda: _settled(archive) or driver.poll() is not None)
        (signals / "wait").touch()  # some are under way when it dies, if they were not judged yet
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        (signals / "wait").unlink(missing_ok=True)
    until(lambda: not processes_with(mark))  # its gateway goes with it
    there = resume("there", archive=archive)
    assert there.status == "finished"
    here = evolve(
        **settings(problem, recording, archive, judge_seed=12, method="full", name="here"),
    )
    assert digest_of(there) == digest_of(here)


def _settled(archive: Path) -> bool:
    try:
        with sqlite3.connect(f"file:{archive}?mode=ro", uri=True) as db:
            return bool(db.execute("SELECT count(trial) FROM proposals").fetchone()[0])
    except sqlite3.OperationalError:
        return False  # not made yet


def test_other_versions_are_refused_and_cards_are_not_mixed(cluster: RayCluster, tmp_path: Path) -> None:
    """A node with another version of this package, and one with another nvcc; and a GPU each, of two types."""
    copy = tmp_path / "other" / "evoengineer"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "version.py").write_text('__version__ = "99.0"\n')
    toolkit = tmp_path / "toolkit" / "bin"
    toolkit.mkdir(parents=True)
    (toolkit / "nvcc").write_text('#!/bin/sh\necho "Cuda compilation tools, release 99.1, V99.1.7"\n')
    (toolkit / "nvcc").chmod(0o755)
    other = [
        add_node(cluster, num_cpus=2, env_vars={"PYTHONPATH": str(copy.parent)}, **labelled("H100")),
        add_node(cluster, num_cpus=2, env_vars={"CUDA_HOME": str(toolkit.parent)}, **labelled("A100")),
    ]
    notes: list[str] = []
    try:
        with Cluster(cluster.address, OPTIONS, notify=notes.append) as opened:
            assert opened.standing.nodes == 3
        with pytest.raises(EvoEngineerError, match="several types of GPU: A100, H100"):
            Cluster(cluster.address, replace(OPTIONS, device=DeviceName.parse("cuda:0")))
        doctor = subprocess.run(
            [sys.executable, "-m", "evoengineer", "doctor", "--cluster", cluster.address],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        for node in other:
            cluster.remove_node(node)
    said = "\n".join(notes)
    assert f"evoengineer 99.0 there, {evoengineer.__version__} here" in said
    assert "nvcc 99.1.7 there, " in said
    assert doctor.returncode == 0, doctor.stderr
    assert doctor.stdout.count("evoengineer 99.0 there") == 1
    assert doctor.stdout.count("nvcc 99.1.7 there") == 1
    assert "1 × H100" in doctor.stdout
    assert "3 of 5 nodes" in doctor.stdout


def labelled(card: str) -> dict[str, Any]:
    """A node that claims to have a GPU of that type, as Ray says it."""
    return {"num_gpus": 1, "resources": {f"accelerator_type:{card}": 1.0}}


class Ender(Silent):
    """Ends something as soon as the first trial is settled."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    def settled(self, plan: Any, settled: Any, progress: Progress) -> None:
        if progress.trials and self._end is not None:
            end, self._end = self._end, None
            end()


def test_a_cluster_that_goes_away(problem: Path, recording: Path, tmp_path: Path, signals: Path) -> None:
    """The run ends cleanly, and is resumed on this machine."""
    archive = tmp_path / "archive.db"
    with three_nodes() as cluster:
        given = settings(problem, recording, archive, judge_seed=13, method="free", name="there")
        del given["archive"], given["name"]
        made = new_settings({**given, "cluster": cluster.address})
        run = Run.create(made, archive, "there")

        def end() -> None:
            (signals / "wait").touch()
            cluster.shutdown()

        result = run.work({}, observer=Ender(end))
    (signals / "wait").unlink()
    assert result.ending == "environment"
    assert "cannot be used any more" in result.reason
    assert run.status == "stopped"
    there = resume(run, cluster="none")
    assert there.status == "finished"
    here = evolve(**settings(problem, recording, archive, judge_seed=13, method="free", name="here"))
    assert digest_of(there) == digest_of(here)


def test_an_address_where_nothing_is() -> None:
    with pytest.raises(EvoEngineerError, match="127.0.0.1:9 cannot be reached"):
        Cluster("127.0.0.1:9", OPTIONS)


def test_a_local_cluster_leaves_nothing_behind(
    problem: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, value = "EVOENGINEER_TEST_MARK", f"local-{tmp_path.name}-{os.getpid()}"
    monkeypatch.setenv(name, value)
    with Cluster("local", OPTIONS) as opened:
        assert ClusterPool(opened, find_problem(problem)).judge(KERNEL_OF_ONE).result(timeout=300).valid
        ours = [pid for pid in processes_with(f"{name}={value}") if pid != os.getpid()]
        assert ours
        shared = _shared_memory(ours)
    until(lambda: not [pid for pid in processes_with(f"{name}={value}") if pid != os.getpid()])
    assert not [each for each in shared if Path(each).exists()]


KERNEL_OF_ONE = kernel(96)


def _shared_memory(pids: list[int]) -> set[str]:
    """Files in shared memory that the processes have mapped or opened."""
    found = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        found |= {line.split()[-1] for line in lines if "/dev/shm/" in line and "(deleted)" not in line}
    return found
