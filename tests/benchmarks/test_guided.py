"""The comparison with the noisy engineer: repeatable, and its texts are read by the real machinery."""

from __future__ import annotations

from pathlib import Path
from random import Random

from benchmarks.guided import Outcome, entries, interval, lessons_for, run, schooling, table
from benchmarks.landscape import MARKS, SIZES, Design, Landscape, LandscapeCraft, LandscapeJudge, text_of

from evoengineer.experience.techniques import present
from evoengineer.propose.noisy_engineer import Noise, spoiled
from evoengineer.propose.syntax.knobs import knobs, with_settings
from evoengineer.search.methods import find_method


def test_a_run_is_repeatable(tmp_path: Path) -> None:
    method, _ = find_method("guided")
    lessons = lessons_for(schooling(Noise(), 12), 3, "problem")
    assert lessons
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    first, second = (run(method, 3, 1, 20, Noise(), folder, lessons, 6) for folder in folders)
    assert first == second
    assert first.log_speedup > 0


def test_the_texts_are_read_by_the_real_machinery() -> None:
    for name in MARKS:
        assert present(text_of(frozenset({name}), SIZES)) == {name}
    assert knobs(text_of(frozenset(MARKS), SIZES)) == ()
    shown = text_of(frozenset(MARKS), SIZES, exposed=True)
    assert {knob.name: knob.value for knob in knobs(shown)} == SIZES
    turned = Design.of(with_settings(shown, {"TILE": 64}))
    assert turned.sizes == {**SIZES, "TILE": 64}
    assert turned.techniques == MARKS.keys()


def test_the_landscape_has_trade_offs_and_faults() -> None:
    landscape = Landscape(1)
    start = Design(frozenset(), SIZES, False)
    together, rivals = landscape.pairs
    one, two = sorted(together[0])

    def factor(names: set[str]) -> float:
        """Of the loss that none of the techniques touches by itself, so that only pairs and sizes are left."""
        losses = landscape.losses(Design(frozenset(names), SIZES, False))
        own = [landscape.effects[name].get(bound, 1.0) for name in names for bound in losses]
        assert own
        return min(
            losses[bound] / landscape.weights[bound]
            for bound in losses
            if all(bound not in landscape.effects[n] for n in names)
        )

    assert factor({one, two}) < factor({one}), "they pay together"
    assert factor(set(rivals[0])) > 1.2 * min(factor({each}) for each in rivals[0]), (
        "they are in each other's way"
    )
    judge = LandscapeJudge(landscape)
    text = start.text()
    assert judge.judge(text).result().timing is not None
    assert judge.judge(spoiled(text, wrong=True)).result().outcome == "wrong"
    built = judge.build(spoiled(text, wrong=False)).result()
    assert built.verdict is not None
    assert built.verdict.outcome == "compile_error"


def test_the_craft_takes_from_both_ports_and_exposes() -> None:
    craft = LandscapeCraft()
    first, second = text_of(frozenset({"shuffles"}), SIZES), text_of(frozenset({"shared tile"}), SIZES)
    both = craft.combined(first, second, 1.0, Random(0))
    assert both is not None
    assert Design.of(both.source).techniques == {"shuffles", "shared tile"}
    assert craft.combined(first, first, 1.0, Random(0)) is None
    ported = craft.ported(first, "read-only loads")
    assert ported is not None
    assert "read-only loads" in present(ported.source)
    assert craft.ported(first, "something else") is None
    exposed = craft.exposed(first, Random(0))
    assert exposed is not None
    assert {knob.name for knob in knobs(exposed.source)} == set(SIZES)


def test_rows_lack_what_they_say() -> None:
    made = entries()
    blind = made["guided without profile"].method
    assert not any(part.key == "profile" for each in blind.cycle for part in each.guidance)
    assert not made["guided without repair"].method.repair
    assert not made["guided without credit"].method.adaptive
    assert not made["guided without tuning"].tunes
    proofs = schooling(Noise(), 12)
    assert lessons_for(proofs, 3, made["guided without experience"].experience) == ()
    kind = Landscape(3).kind
    told = {lesson.structure.kind for lesson in lessons_for(proofs, 3, "family")}
    assert kind not in told
    assert kind in {lesson.structure.kind for lesson in lessons_for(proofs, 3, "problem")}


def test_intervals_are_paired() -> None:
    mean, low, high = interval([[0.1, 0.1], [0.1, 0.1]])
    assert mean == low == high
    worse, better = [[Outcome(0.5, 0.0)]] * 3, [[Outcome(0.6, 0.1)]] * 3
    assert "10.0 points (10.0 to 10.0) | 1.11 (1.11 to 1.11)" in table({"guided": better, "free": worse})
