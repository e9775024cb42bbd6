"""Every kernel of the library, judged: a few models with many outputs use them all."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoengineer.baseline.text import _LIBRARY, _PARTS
from evoengineer.experiment.adopting import adopt

MODELS = sorted((Path(__file__).parent / "models").glob("*.py"))


@pytest.mark.parametrize("model", MODELS, ids=[path.stem for path in MODELS])
def test_a_baseline_is_valid(model: Path, tmp_path: Path) -> None:
    adopted = adopt(model, tmp_path / model.stem)
    assert adopted.verdict.valid
    assert (adopted.folder / "baseline.cu").is_file()


def test_every_part_has_its_text_and_stands_after_what_it_needs() -> None:
    names = list(_PARTS)
    assert {path.stem for path in _LIBRARY.glob("*.cu")} == {"common", *names}
    for name, needed in _PARTS.items():
        assert all(names.index(each) < names.index(name) for each in needed)
