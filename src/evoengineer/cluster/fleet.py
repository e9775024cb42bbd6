"""The machines of a Ray cluster: nodes, build tasks and judge actors, each pinned to a node that was looked at.

Results come back as calls to `post`, from threads of Ray's. Judges and builds take what a node offers in Ray's terms:
on a simulated GPU each judge `{"CPU": k}` and each build `{"CPU": 1}`, a quarter of the cores being left to builds; on
real ones each judge `{"GPU": 1}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import ray
from ray._private.state import available_resources_per_node
from ray.exceptions import RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from evoengineer.cluster.dispatch import Package
from evoengineer.cluster.facts import Facts, Node, facts_here
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.verdict import Verdict
from evoengineer.judge.worker import Target

_ALONG_BYTES = 1 << 16  # of a problem, sent with each call
_LABEL = "accelerator_type:"  # Ray's resource that names a node's card
_CREW = "evoengineer.cluster.crew"

Post = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Places:
    """How many judges and builds a node takes, and how much of a core each holds."""

    judges: int
    build_cores: int
    judge_cpus: float
    build_cpus: float


def places_on(node: Node, *, gpu: bool, cpus: int) -> Places:
    """A core runs either a build or a judge; a node of one core shares it."""
    if gpu:
        return Places(int(node.gpus), max(1, int(node.cpus)), 0.0, min(1.0, node.cpus))
    if node.cpus < cpus + 1:
        half = node.cpus / 2
        return Places(1 if half else 0, 1, half, half)
    builds = min(math.ceil(node.cpus / 4), int(node.cpus) - cpus)
    return Places((int(node.cpus) - builds) // cpus, builds, float(cpus), 1.0)


def alive_nodes() -> dict[str, Node]:
    """The nodes that Ray knows to be alive, not yet looked at, by their ids."""
    found = {}
    available = available_resources_per_node()
    for each in ray.nodes():
        if each["Alive"]:
            resources: Mapping[str, float] = each["Resources"]
            free = available.get(each["NodeID"], {})
            label = next((name.removeprefix(_LABEL) for name in resources if name.startswith(_LABEL)), "")
            found[each["NodeID"]] = Node(
                id=each["NodeID"],
                name=f"{each['NodeManagerHostname']} ({each['NodeManagerAddress']}:{each['NodeManagerPort']})",
                cpus=resources.get("CPU", 0.0),
                gpus=resources.get("GPU", 0.0),
                card=label,
                free=free.get("GPU" if "GPU" in resources else "CPU", 0.0),
            )
    return found


class RayFleet:
    """See `dispatch.Fleet`. `post(method, *arguments)` has a method of the dispatcher called in its thread."""

    def __init__(
        self, options: JudgeOptions, target: Target, cpus: int, post: Post, crew: str = _CREW
    ) -> None:
        module = import_module(crew)
        self._options, self._target, self._cpus, self._post = options, target, cpus, post
        self._build = ray.remote(num_returns=2, max_retries=0)(module.build)
        self._judge = ray.remote(max_restarts=0, max_task_retries=0)(_actor(module.Judge))
        self._places: dict[str, Places] = {}
        self._actors: dict[int, Any] = {}
        self._problems: dict[str, Any] = {}
        self._sent: Any = ray.put(options)

    def use(self, node: Node) -> Places:
        """A node that may judge."""
        self._places[node.id] = places_on(node, gpu=self._gpu, cpus=self._cpus)
        return self._places[node.id]

    def keep_problem(self, key: str, data: bytes) -> None:
        if key not in self._problems:
            # What is in Ray's store is fetched for every call; a file or two go along quicker.
            self._problems[key] = data if len(data) <= _ALONG_BYTES else ray.put(data)

    def close(self, seconds: float) -> None:
        """Judges end their own processes; those that are busy are ended."""
        leaving = [actor.leave.remote() for actor in self._actors.values()]
        if leaving:
            ray.wait(leaving, num_returns=len(leaving), timeout=seconds)
        for judge in list(self._actors):
            self.end_judge(judge)

    # -- what the dispatcher asks for ----------------------------------------------------------------

    def open_judge(self, judge: int, node: str) -> None:
        places = self._places[node]
        actor = self._judge.options(
            num_cpus=places.judge_cpus, num_gpus=1 if self._gpu else 0, scheduling_strategy=_on(node)
        ).remote(self._sent, max(1, self._cpus), self._gpu)
        self._actors[judge] = actor
        when_done(
            actor.ready.remote(),
            lambda _: self._post("judge_ready", judge),
            lambda error: self._post("judge_died", judge),
        )

    def end_judge(self, judge: int) -> None:
        actor = self._actors.pop(judge, None)
        if actor is not None:
            ray.kill(actor)

    def build(self, build: int, node: str, problem: str, source: str) -> None:
        remote = self._build.options(num_cpus=self._places[node].build_cpus, scheduling_strategy=_on(node))
        report, package = remote.remote(self._problems[problem], source, self._target, self._options)
        when_done(
            report,
            lambda found: self._post("built", build, found, package),
            lambda error: self._post("build_lost", build, str(error)),
        )

    def judge(
        self,
        judge: int,
        problem: str,
        kernel: str,
        build: Package,
        baseline: Verdict | None,
        baseline_build: Package | None,
    ) -> None:
        actor = self._actors[judge]

        def failed(error: BaseException) -> None:
            if isinstance(error, RayActorError):
                self._post("judge_died", judge)
            elif isinstance(error, RayError):
                self._post("package_lost", judge, str(error))
            else:
                raise error

        when_done(
            actor.judge.remote(self._problems[problem], kernel, build, baseline, baseline_build),
            lambda result: self._post("judged", judge, result),
            failed,
        )

    def probe(self, node: str, judge: int) -> None:
        when_done(
            _nothing.options(scheduling_strategy=_on(node)).remote(),
            lambda _: self._post("probed", judge, node, True),
            lambda error: self._post("probed", judge, node, False),
        )

    @property
    def _gpu(self) -> bool:
        return not self._options.device.simulated


def look_at(node: Node, told: Callable[[Node], None]) -> None:
    """Have a node tell its facts; `told` gets it with them, or with why there are none."""

    def good(facts: Facts) -> None:
        told(replace(node, facts=facts, card=node.card or (facts.cards[0].name if facts.cards else "")))

    when_done(
        _facts.options(scheduling_strategy=_on(node.id)).remote(),
        good,
        lambda error: told(replace(node, silence=f"it cannot run this package: {cause_of(error)}")),
    )


def when_done(ref: Any, good: Callable[[Any], None], bad: Callable[[BaseException], None]) -> None:
    """Call one of the two, in a thread of Ray's."""

    def done(future: Any) -> None:
        error = future.exception()
        if error is None:
            good(future.result())
        else:
            bad(error)

    ref.future().add_done_callback(done)


def _actor(judge: type) -> type:
    """The crew's judge, which finds its GPU and leaves in Ray's way."""

    class JudgeActor(judge):  # type: ignore[misc]
        def __init__(self, options: JudgeOptions, threads: int, gpu: bool) -> None:
            super().__init__(options, threads, int(ray.get_gpu_ids()[0]) if gpu else None)

        def leave(self) -> None:
            self.close()
            ray.actor.exit_actor()

    return JudgeActor


@ray.remote(num_cpus=0, max_retries=0)  # type: ignore[untyped-decorator]
def _facts() -> Facts:
    return facts_here()


@ray.remote(num_cpus=0, max_retries=0)  # type: ignore[untyped-decorator]
def _nothing() -> None:
    return None


def _on(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def cause_of(error: BaseException) -> str:
    """The last line of Ray's long messages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
