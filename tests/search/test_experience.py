"""The experience library: proofs from runs, merging, what a new run is told, and that nothing leaks."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import kernel, profile_of, reply, task

from evoengineer.cli import main
from evoengineer.errors import UsageError
from evoengineer.experience.attribution import shares
from evoengineer.experience.learning import family_of, import_file, proofs_of
from evoengineer.experience.lessons import Lesson, choose, digest, snapshot
from evoengineer.experience.library import Library
from evoengineer.experience.proofs import Proof
from evoengineer.experience.structure import Structure, access_pattern, operation_kind
from evoengineer.experience.techniques import BY_NAME, applicable, excerpt, introduced, present
from evoengineer.search.methods import METHODS

HERE = Structure("normalisation", "dram_bound", "streamed")


def proof(
    technique: str = "shuffles", problem: str = "suite/sums/mean", gain: float | None = 1.5, **more: object
) -> Proof:
    values: dict[str, object] = {
        "technique": technique, "problem": problem, "family": family_of(problem), "reference": f"digest of {problem}",
        "device": "sim:rtx4090", "structure": HERE, "together": 1, "parent": "p", "child": "c",
        "outcome": "valid" if gain else "wrong", "gain": gain, "excerpt": f"lines of {problem}",
    }  # fmt: skip
    return Proof(**{**values, **more})  # type: ignore[arg-type]


def held(
    *proofs: Proof, problem: str = "suite/norms/softmax", leave_out: str = "problem"
) -> tuple[Lesson, ...]:
    return snapshot(proofs, problem=problem, family=family_of(problem), reference="own", leave_out=leave_out)


# -- reading texts -----------------------------------------------------------------------------------------


def test_techniques_are_read_from_the_text_not_from_comments() -> None:
    plain = (
        "__global__ void k(float* x) { x[0] = 1; } // __shfl_xor_sync, float4\nvoid f() { k<<<1, 1>>>(x); }"
    )
    better = plain.replace("x[0] = 1;", "float4 v; v = __shfl_xor_sync(0xffffffff, v, 1);")
    assert not present(plain)
    assert introduced(plain, better) == ("16 bytes per access", "shuffles")
    assert introduced(better, plain) == ()
    general = plain + "void g() { k<<<1, 1>>>(x); }"
    assert introduced(plain, general) == (), "a launch for other sizes is none of the timed call"
    assert introduced(plain, general, (1, 2)) == ("several launches",)
    assert introduced(plain, general, (4, 1)) == ("fewer launches",)


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("return a @ b", "product"),
        ("return F.conv2d(x, w)", "convolution"),
        ("self.conv = nn.ConvTranspose3d(3, 4, 5)", "convolution"),
        ("return torch.relu(torch.matmul(a, b))", "product"),
        ("return torch.nn.functional.layer_norm(x, s, w, b)", "normalisation"),
        ("return torch.cumsum(x, 1)", "scan"),
        ("return x.sum(1)", "reduction"),
        ("return torch.relu(x)", "elementwise"),
    ],
)
def test_the_kind_of_an_operation(reference: str, kind: str) -> None:
    assert operation_kind(reference) == kind


def test_the_access_pattern_is_computed_from_the_profile() -> None:
    launch = replace(profile_of("dram"), l1_bytes=100.0, dram_bytes=100.0, bytes_per_sector=32.0)
    assert access_pattern(launch) == "streamed"
    assert access_pattern(replace(launch, dram_bytes=10.0)) == "reused"
    assert access_pattern(replace(launch, bytes_per_sector=4.0)) == "scattered"
    assert access_pattern(None) == "unknown"


# -- the library -------------------------------------------------------------------------------------------


def test_libraries_merge_in_any_order_to_the_same(tmp_path: Path) -> None:
    parts = [[proof(problem=f"s/f/{name}"), proof("shared tile", gain=None, child=name)] for name in "abc"]
    found = set()
    for place, order in enumerate(itertools.permutations(parts)):
        library = Library(tmp_path / f"{place}.db")
        for part in order:
            other = Library(tmp_path / "other.db")
            other.add(part)
            import_file(library, other.path)
            assert import_file(library, other.path) == 0, "again changes nothing"
            other.forget([each.id for each in part])
        found.add(tuple(each.id for each in library.proofs()))
    assert len(found) == 1
    assert len(next(iter(found))) == 6


def test_what_is_no_library_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "experience.db"
    text.write_text("not a database, whatever its name")
    with pytest.raises(UsageError, match="is not an experience library, and is left as it is"):
        Library(text).add([proof()])
    assert text.read_text().startswith("not a")
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        json.dumps(proof().to_json()) + "\n" + json.dumps({**proof().to_json(), "gain": -1.0}) + "\n"
    )
    library = Library(tmp_path / "mine.db")
    with pytest.raises(UsageError, match=r"lines.jsonl, line 2: no proof"):
        import_file(library, lines)
    assert library.proofs() == ()


# -- what a run is told ------------------------------------------------------------------------------------


def test_nothing_of_the_same_problem_is_told_under_any_name() -> None:
    own = proof(problem="suite/norms/softmax")
    renamed = proof(problem="elsewhere/x/other", reference="own")
    homonym = proof(problem="softmax")
    sibling = proof(problem="suite/norms/layer_norm")
    stranger = proof(problem="suite/sums/mean")
    assert held(own, renamed, homonym) == ()
    told = {place for lesson in held(own, renamed, homonym, sibling, stranger) for place, _ in lesson.places}
    assert told == {"suite/norms/layer_norm", "suite/sums/mean"}
    told = {place for each in held(own, sibling, stranger, leave_out="family") for place, _ in each.places}
    assert told == {"suite/sums/mean"}


def test_lessons_carry_mean_gain_uses_and_failures() -> None:
    lessons = held(
        proof(gain=2.0),
        proof(gain=8.0, child="d"),
        proof(gain=None, child="e"),
        proof(gain=4.0, together=2, child="f"),
    )
    (lesson,) = lessons
    assert (lesson.uses, lesson.failures) == (4, 1)
    assert lesson.mean_gain == pytest.approx((2.0 * 8.0 * 2.0) ** (1 / 3)), (
        "what came together shares the gain"
    )
    assert "mean gain 3.17x in 4 uses, 1 failed" in lesson.shown()
    assert "at best suite/sums/mean 8.00x" in lesson.shown()
    assert held(proof(), replace(proof(), thought="the same fact in other words"))[0].uses == 1


def test_what_comes_together_is_told_apart_by_how_it_fares_in_other_company() -> None:
    """A trimming that comes with every design, and alone gains nothing, gets no credit for the designs."""
    design, trimming = "tile in registers", "read-only loads"
    proofs = [
        proof(each, problem=f"suite/a/p{number}", gain=4.0, together=2, child=f"both {number}")
        for number in range(4)
        for each in (design, trimming)
    ]
    proofs += [
        proof(trimming, problem=f"suite/b/q{number}", gain=1.0, child=f"alone {number}")
        for number in range(4)
    ]
    gains = {lesson.technique: lesson.mean_gain for lesson in held(*proofs)}
    assert gains[design] > 2.5
    assert gains[trimming] < 1.35
    credited = shares(proofs)
    for number in range(4):
        together = [credited[each.id] for each in proofs if each.child == f"both {number}"]
        assert sum(together) == pytest.approx(math.log(4.0)), "no gain is lost or made up"


def test_the_gain_of_a_rewrite_is_not_all_its_techniques() -> None:
    names = ("shared tile", "shuffles", "unrolled loops", "read-only loads")
    proofs = [
        proof(each, problem=f"suite/a/p{number}", gain=8.0, together=4, child=f"c{number}")
        for number in range(3)
        for each in names
    ]
    credited = shares(proofs)
    assert sum(credited[each.id] for each in proofs[:4]) < 0.9 * math.log(8.0)
    assert shares(reversed(proofs)) == credited, "whatever their order"


def test_only_what_a_kernel_could_take_up_is_applicable() -> None:
    text = "__global__ void k(float* x) { x[0] = expf(x[0]); }"
    assert applicable("fast intrinsics", text, "elementwise", 1)
    assert not applicable("fast intrinsics", text.replace("expf", "f"), "elementwise", 1)
    assert not applicable("tensor cores", text, "elementwise", 1)
    assert applicable("tensor cores", text, "product", 1)
    assert applicable("fewer launches", text, "product", 2)
    assert not applicable("fewer launches", text, "product", 1)
    assert not applicable("shuffles", "__shfl_xor_sync(m, v, 1)", "product", 1)


def test_an_excerpt_is_the_function_and_a_lesson_names_where_its_example_comes_from() -> None:
    text = (
        "// float4\nconstexpr int N = 4;\n\n__device__ float sum(float v) {\n    v += 1;\n"
        "    return __shfl_xor_sync(1, v, 1);\n}\n\n__global__ void k() {\n    sum(1);\n}\n"
    )
    assert excerpt(text, "shuffles").splitlines()[0] == "constexpr int N = 4;"
    assert excerpt(text, "shuffles").splitlines()[-1] == "}"
    assert "__global__" not in excerpt(text, "shuffles")
    (lesson,) = held(
        proof(problem="suite/a/large", gain=8.0, together=2, child="d", excerpt="of large"),
        proof("shared tile", problem="suite/a/large", gain=8.0, together=2, child="d"),
        proof(problem="suite/b/alone", gain=7.0, excerpt="of alone"),
    )[1:]
    assert (lesson.technique, lesson.example_place, lesson.excerpt) == (
        "shuffles",
        "suite/b/alone",
        "of alone",
    )


def test_lessons_are_chosen_by_structure_and_never_for_what_is_there() -> None:
    far = Structure("product", "compute_bound", "reused")
    lessons = held(
        proof("shuffles", gain=1.6),
        proof("16 bytes per access", problem="suite/products/square", gain=1.6, structure=far),
        proof("fast intrinsics", gain=0.7, child="d"),
        proof("streaming hints", gain=None, child="e"),
    )
    first = [choose(lessons, HERE, "", 1, Random(seed))[0].technique for seed in range(60)]
    assert set(first) == {"shuffles", "16 bytes per access"}, (
        "what made kernels slower or failed is not shown"
    )
    assert first.count("shuffles") > 40
    there = [choose(lessons, far, "", 1, Random(seed))[0].technique for seed in range(60)]
    assert there.count("16 bytes per access") > 40
    assert [each.technique for each in choose(lessons, HERE, "__shfl_xor_sync(m, v, 1)", 2, Random(0))] == [
        "16 bytes per access"
    ]


def test_only_guided_declares_experience() -> None:
    assert [method.name for method in METHODS if method.uses_experience] == ["guided"]


def test_experience_is_in_prompts_exactly_when_declared_and_known(tmp_path: Path) -> None:
    lessons = held(proof("shuffles", gain=2.0))
    for method in METHODS:
        for told in ((), lessons):
            folder = tmp_path / f"{method.name}{len(told)}"
            answers = Answers(lambda r: reply(f"k{r.number}", time=100 - r.number, bound="dram"))
            evolve(folder, answers, method=method.name, trials=20, lessons=told)
            shown = [
                request for request in answers.requests if "# Experience from other problems" in request.user
            ]
            assert bool(shown) == (method.name == "guided" and bool(told)), method.name
            ported = [request for request in answers.requests if "Port the technique named" in request.user]
            assert bool(ported) == (method.name == "guided" and bool(told)), method.name
            for request in ported:
                assert "lines of suite/sums/mean" in request.user, "an example of where it was proved"


def test_a_technique_that_is_taken_up_is_no_longer_offered(tmp_path: Path) -> None:
    def answer(request: object) -> str:
        number = request.number  # type: ignore[attr-defined]
        text = kernel(f"k{number}", time=100 - number, bound="dram")
        text += "__device__ int f() { return __shfl_xor_sync(1, 2, 3); }"
        return f"name: k\nthought: t\ncode:\n```cuda\n{text}\n```\n"

    answers = Answers(answer)  # type: ignore[arg-type]
    evolve(
        tmp_path, answers, method="guided", trials=6, lookahead=1, lessons=held(proof("shuffles", gain=2.0))
    )
    told = ["# Experience from" in answers.prompt(number) for number in range(1, 7)]
    assert told == [True] + [False] * 5


def test_a_run_with_lessons_repeats_bit_for_bit_and_the_snapshot_has_a_digest(tmp_path: Path) -> None:
    lessons = held(proof("shuffles", gain=2.0), proof("shared tile", gain=1.3))

    def once(name: str) -> dict[str, object]:
        answers = Answers(lambda r: reply(f"k{r.number}", time=100 - r.number % 7, bound="dram"))
        return evolve(tmp_path / name, answers, method="guided", trials=15, lessons=lessons).canonical()

    assert once("a") == once("b")
    assert digest(lessons) == digest(
        tuple(Lesson.from_json(json.loads(json.dumps(each.to_json()))) for each in lessons)
    )
    assert digest(lessons) != digest(lessons[:1])
    assert digest(()) == ""


# -- learning ----------------------------------------------------------------------------------------------


def test_a_run_teaches_what_its_kernels_did_against_their_parents(tmp_path: Path) -> None:
    def answer(request: object) -> str:
        number = request.number  # type: ignore[attr-defined]
        extra = {1: "__shfl_xor_sync(1, 2, 3);", 2: "float4 v;"}.get(number, "")
        outcome = {"outcome": "wrong"} if number == 2 else {"time": 50.0 if number == 1 else 60.0 + number}
        text = kernel(f"k{number}", bound="dram", **outcome) + f"void g() {{ {extra} }}\n"
        return f"name: k\nthought: because\ncode:\n```cuda\n{text}```\n"

    done = evolve(tmp_path, Answers(answer), method="free", trials=3, lookahead=1)  # type: ignore[arg-type]
    found = {each.technique: each for each in proofs_of(done.archive, done.archive.run("run"))}
    assert set(found) == {"shuffles", "16 bytes per access"}
    assert found["shuffles"].gain == pytest.approx(2.0)
    assert found["shuffles"].thought == "because"
    assert "__shfl_xor_sync" in found["shuffles"].excerpt
    assert found["16 bytes per access"].gain is None
    assert found["16 bytes per access"].structure.bottleneck == "dram_bound", "of its parent, kernel 1"
    assert all(name in BY_NAME for name in found)


def test_the_command_lists_shows_imports_and_forgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    Library(source).add([proof(gain=2.0), proof("shared tile", problem="other", gain=None)])
    assert main(["experience", "list", "--library", str(target)]) == 0
    assert "no experience yet" in capsys.readouterr().out
    assert main(["experience", "list", "--json", "--library", str(source)]) == 0
    (tmp_path / "lines.jsonl").write_text(capsys.readouterr().out)
    assert (
        main(["experience", "import", str(source), str(tmp_path / "lines.jsonl"), "--library", str(target)])
        == 0
    )
    assert [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()] == [
        "2 new proofs",
        "0 new proofs",
    ]
    assert main(["experience", "list", "--library", str(target)]) == 0
    assert "2.00x" in capsys.readouterr().out
    assert main(["experience", "show", "shuffles", "--library", str(target)]) == 0
    assert "lines of suite/sums/mean" in capsys.readouterr().out
    assert main(["experience", "show", "shufles", "--library", str(target)]) == 2
    assert main(["experience", "forget", "--library", str(target)]) == 2
    assert main(["experience", "forget", "--problem", "other", "--library", str(target)]) == 0
    assert [each.technique for each in Library(target).proofs()] == ["shuffles"]


def test_a_run_reads_the_snapshot_it_began_with_and_only_if_its_method_declares_it(tmp_path: Path) -> None:
    from evoengineer.experiment import experience
    from evoengineer.search.methods import find_method
    from evoengineer.search.settings import resolve

    archive = tmp_path / "archive.db"
    library = Library(tmp_path / "experience.db")
    library.add([proof(gain=2.0)])
    guided, free = find_method("guided")[0], find_method("free")[0]
    settings = resolve({"problem": "toy"})
    lessons = experience.lessons_for(settings, guided, task(), archive)
    assert [each.technique for each in lessons] == ["shuffles"]
    assert experience.lessons_for(settings, free, task(), archive) == ()
    assert experience.lessons_for(replace(settings, experience=False), guided, task(), archive) == ()
    done = evolve(tmp_path / "run", Answers(lambda r: reply(f"k{r.number}")), method="free", trials=1)
    kept = json.loads(json.dumps({**done.archive.run("run").settings, **experience.recorded(lessons)}))
    library.add([proof("shared tile", gain=3.0)])
    assert experience.recorded_lessons(replace(done.archive.run("run"), settings=kept)) == lessons
    assert kept["experience_digest"] == digest(lessons)
    assert experience.keep(replace(settings, experience=False), guided, done.archive, "run") == 0
