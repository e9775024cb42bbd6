"""The tables of a report as rows of text, for HTML, Markdown and the terminal alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evoengineer.card.name import DeviceName
from evoengineer.report.numbers import Comparison, Group, Numbers
from evoengineer.report.published import DEVICE, FIGURES
from evoengineer.report.stats import SIGNIFICANCE, Estimate, least_p
from evoengineer.report.text import cost, duration

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    head: Row
    rows: tuple[Row, ...]
    left: int = 1  # so many columns are names, the others figures
    note: str = ""


def tables(numbers: Numbers) -> list[Table]:
    """All tables of a report, those without rows left out."""
    made = [
        _speedups(numbers), _validity(numbers), _pytorch(numbers), _families(numbers), _wins(numbers),
        _problems(numbers), _published(),
    ]  # fmt: skip
    return [table for table in made if table.rows]


def conclusions(numbers: Numbers) -> list[str]:
    """What can and what cannot be concluded, a plain sentence for each pair of methods."""
    said = [_conclusion(each) for each in numbers.comparisons]
    if not said:
        said.append("One method per model: there is nothing to compare.")
    if any(each.repeats < 2 for each in numbers.comparisons):
        said.append(
            "Cells with a single run do not separate a method's quality from that run's luck: "
            "repeat them (--repeats) before you lean on small differences."
        )
    unfinished = [run.id for run in numbers.runs if run.status != "finished"]
    if unfinished:
        said.append(
            f"{len(unfinished)} of {len(numbers.runs)} runs are not finished and count as they stand."
        )
    budgets = {run.trials for run in numbers.runs if run.status == "finished"}
    if len(budgets) > 1:
        said.append(f"Runs had between {min(budgets)} and {max(budgets)} trials: more trials find more.")
    simulated = sorted({run.device for run in numbers.runs if DeviceName.parse(run.device).simulated})
    if simulated:
        said.append(
            f"Times on {', '.join(simulated)} are simulated: see docs/simulated-time.md for how far they hold."
        )
    return said


def _conclusion(pair: Comparison) -> str:
    test = pair.test
    differing = test.first_wins + test.second_wins
    who = f"{pair.first} against {pair.second} ({pair.model}, {pair.device}), {test.problems} problems"
    if not differing:
        return f"{who}: equal on every one."
    faster, slower, ratio = pair.first, pair.second, test.ratio
    wins = test.first_wins
    if ratio.value < 1:
        faster, slower, wins = pair.second, pair.first, test.second_wins
        ratio = Estimate(
            1 / ratio.value,
            None if ratio.high is None else 1 / ratio.high,
            None if ratio.low is None else 1 / ratio.low,
        )
    seen = (
        f"{faster} is {estimate_text(ratio)} as fast in the geometric mean, faster on {wins} of {differing} problems "
        f"that differ (Wilcoxon p = {p_text(pair.p_holm)}, effect size {abs(test.effect):.2f})"
    )
    if least_p(differing) > SIGNIFICANCE:
        return (
            f"{who}: {seen}. Nothing can be concluded: {differing} differing "
            f"problem{'s' if differing > 1 else ''} cannot reach p = {SIGNIFICANCE}, whatever the outcome."
        )
    if pair.p_holm <= SIGNIFICANCE:
        return f"{who}: {seen}. So {faster} is faster than {slower} on problems like these."
    return f"{who}: {seen}. That may be chance: no difference is shown, nor is it shown that there is none."


# -- the texts of figures ----------------------------------------------------------------------------------------


def p_text(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "under 0.001"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def estimate_text(estimate: Estimate | None) -> str:
    """`1.50x (1.20 to 1.90)`."""
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return times(estimate.value)
    return f"{times(estimate.value)} ({estimate.low:.2f} to {estimate.high:.2f})"


def _names(group: Group) -> Row:
    return group.method, group.model, group.device


def _per_group(
    title: str, columns: Sequence[tuple[str, Callable[[Group], str]]], groups: Sequence[Group], note: str
) -> Table:
    head = ("method", "model", "device", *(name for name, _ in columns))
    return Table(title, head, tuple((*_names(g), *(text(g) for _, text in columns)) for g in groups), 3, note)


def _speedups(numbers: Numbers) -> Table:
    return _per_group(
        "Speedup over the baseline kernel",
        [
            ("problems", lambda g: str(g.problems)),
            ("mean", lambda g: estimate_text(g.mean_speedup)),
            ("median", lambda g: estimate_text(g.median_speedup)),
            ("geometric mean", lambda g: estimate_text(g.geometric_mean_speedup)),
            ("over 1.1x", lambda g: percent(g.over.get(1.1))),
            ("over 2x", lambda g: percent(g.over.get(2.0))),
            ("over 5x", lambda g: percent(g.over.get(5.0))),
            ("speed of light", lambda g: percent(g.light_reached)),
            ("headroom closed", lambda g: f"{percent(g.headroom_closed)} of {g.headroom_problems}"),
        ],
        numbers.groups,
        "Per problem the median over repeats of a run's best speedup; then mean, median and geometric mean over "
        "problems, with 95% bootstrap intervals over problems. The mean is most likely what the paper calls averaged "
        "median speedup. Headroom closed: log(baseline/best) / log(baseline/light), mean over the problems whose "
        "baseline is slower than light.",
    )


def _validity(numbers: Numbers) -> Table:
    return _per_group(
        "Validity and cost",
        [
            ("runs", lambda g: str(g.runs)),
            ("trials", lambda g: str(g.trials)),
            ("functional", lambda g: percent(g.functional)),
            ("compile", lambda g: percent(g.compile)),
            ("tokens", lambda g: f"{g.tokens:,}"),
            ("cost", lambda g: cost(g.nano_usd)),
            ("judge time", lambda g: duration(g.judge_seconds)),
        ],
        numbers.groups,
        "Shares of all trials that were charged. Judge time is the sum over verdicts of wall time by stage.",
    )


def _pytorch(numbers: Numbers) -> Table:
    kinds = {time.estimated for time in numbers.pytorch.values()}
    how = (
        "estimated"
        if kinds == {True}
        else "measured"
        if kinds == {False}
        else "measured on cuda, estimated on sim"
    )
    return _per_group(
        f"Speedup over PyTorch ({how})",
        [
            ("mean over eager", lambda g: times(g.mean_over_pytorch)),
            ("geometric mean over eager", lambda g: estimate_text(g.geometric_mean_over_pytorch)),
            ("geometric mean over fused", lambda g: estimate_text(g.geometric_mean_over_fused)),
            ("most over eager", lambda g: times(g.most_over_pytorch)),
            *((f"fast_{p:g}", lambda g, p=p: percent(g.fast_p.get(p))) for p in (0.0, 1.0, 1.5, 2.0)),
        ],
        [group for group in numbers.groups if group.mean_over_pytorch is not None],
        "On a simulated card PyTorch's time is an estimate from the reference's own ATen calls (docs/report.md). "
        "fast_p: share of problems with a valid trial more than p times as fast as eager PyTorch.",
    )


def _families(numbers: Numbers) -> Table:
    rows = tuple(
        (
            *(g.family, g.method, g.model, g.device, str(g.problems)),
            *(estimate_text(e) for e in (g.mean_speedup, g.median_speedup, g.geometric_mean_speedup)),
            *(percent(g.functional), percent(g.compile), percent(g.headroom_closed)),
        )
        for g in sorted(numbers.families, key=lambda g: g.family)
    )
    head = (
        "family", "method", "model", "device", "problems", "mean", "median", "geometric mean", "functional", "compile",
        "headroom closed",
    )  # fmt: skip
    return Table("Families of problems", head, rows, 4)


def _wins(numbers: Numbers) -> Table:
    rows = tuple(
        (w.method, w.model, w.device, f"{w.wins:g} of {w.of}", f"{w.wins_over_2:g} of {w.of_over_2}")
        for w in numbers.wins
    )
    head = ("method", "model", "device", "fastest", "fastest where some method is over 2x")
    return Table(
        "Wins", head, rows, 3, "Problems on which a method beats the others with the same model; ties shared."
    )


def _problems(numbers: Numbers) -> Table:
    rows = tuple(
        (
            *(c.problem, c.method, c.model, c.device, str(len(c.runs)), times(c.speedup)),
            *(
                percent(c.light_reached),
                percent(c.headroom_closed),
                times(c.over_pytorch),
                times(c.over_fused),
            ),
            *(f"{c.valid}/{c.trials}", c.best_run),
        )
        for c in sorted(numbers.cells, key=lambda c: c.problem)
    )
    head = (
        "problem", "method", "model", "device", "runs", "speedup", "speed of light", "headroom closed", "over PyTorch",
        "over fused", "valid", "best run",
    )  # fmt: skip
    return Table("Problems", head, rows, 4, "Medians over repeats.")


def _published() -> Table:
    rows = tuple(
        (
            each.label,
            each.method,
            each.model,
            times(each.speedup),
            percent(each.functional),
            percent(each.compile),
        )
        for each in FIGURES
    )
    head = ("method in the paper", "here", "model", "averaged median speedup", "functional", "compile")
    return Table(
        f"The paper's figures: {DEVICE}", head, rows, 3, "From published summaries of arXiv 2510.03760."
    )
