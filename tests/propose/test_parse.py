"""Replies in all the forms that models use; whatever is not a kernel is unparsable, nothing raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoengineer.kernel.inline import Argument, Signature
from evoengineer.propose.parse import parse_reply

CODE = (
    "#include <torch/extension.h>\n"
    "__global__ void run(float* x) { x[0] = 1.0f; }\n"
    "torch::Tensor forward(torch::Tensor x) { run<<<1, 32>>>(x.data_ptr<float>()); return x; }\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n    m.def("forward", &forward);\n}\n'
)
FENCED = f"```cuda\n{CODE}```"

OBJECT = json.dumps({"name": "tiled", "thought": "it reuses data", "code": CODE})
ALOUD = "<think>name: wrong\n```cuda\n__global__ bad\n```</think>"

FILE = f"""import torch
from torch.utils.cpp_extension import load_inline

ext = load_inline(name="e", cpp_sources="", cuda_sources=r'''
{CODE}''')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.forward(x)
"""

FORMS = {
    "as asked": f"name: tiled\nthought: it reuses data\ncode:\n{FENCED}\n",
    "thought after the code": f"name: tiled\ncode:\n{FENCED}\nthought: it reuses data",
    "markdown": f"**Name:** tiled\n\n**Thought:** it reuses data\n\n**Code:**\n\n{FENCED}",
    "headings": f"### Name: tiled\n### Thought: it reuses data\n### Code:\n{FENCED}",
    "capitals": f"NAME: tiled\nTHOUGHT: it reuses data\nCODE:\n{FENCED}",
    "json": OBJECT,
    "json in a fence": f"Here it is:\n```json\n{OBJECT}\n```",
    "json with fenced code": json.dumps({"name": "tiled", "thought": "it reuses data", "code": FENCED}),
    "tags": f"<name>tiled</name>\n<thought>it reuses data</thought>\n<code>\n{CODE}</code>",
    "tags with a fence": f"<name>tiled</name><thought>it reuses data</thought><code>{FENCED}\n</code>",
    "no fence": f"name: tiled\nthought: it reuses data\ncode:\n{CODE}",
    "windows lines": f"name: tiled\nthought: it reuses data\ncode:\n{FENCED}\n".replace("\n", "\r\n"),
    "tildes": f"name: tiled\nthought: it reuses data\ncode:\n~~~cpp\n{CODE}~~~",
    "thinking aloud": f"{ALOUD}name: tiled\nthought: it reuses data\n{FENCED}",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_name_thought_and_code_are_found(form: str) -> None:
    parsed = parse_reply(FORMS[form])
    assert parsed.code.strip() == CODE.strip()
    assert parsed.name == "tiled"
    assert parsed.thought == "it reuses data"


def test_code_alone_will_do() -> None:
    parsed = parse_reply(f"```\n{CODE}```")
    assert (parsed.code, parsed.name, parsed.thought) == (CODE, "", "")


def test_a_thought_of_several_lines_ends_at_the_code() -> None:
    parsed = parse_reply(f"name: a\nthought: first line\nsecond line\ncode:\n{FENCED}")
    assert parsed.thought == "first line\nsecond line"


def test_of_several_blocks_the_last_whole_kernel_counts() -> None:
    other = CODE.replace("1.0f", "2.0f")
    text = f"First try:\n{FENCED}\nBetter:\n```cuda\n{other}```\nRun it with\n```bash\npython setup.py\n```"
    assert parse_reply(text).code == other


def test_a_reply_that_was_cut_off_still_gives_its_code() -> None:
    parsed = parse_reply(f"name: cut\ncode:\n```cuda\n{CODE[:120]}")
    assert parsed.code.strip() == CODE[:120].strip()


def test_labels_inside_the_code_are_not_taken_for_labels() -> None:
    code = CODE.replace("__global__", "// name: evil\n__global__")
    assert parse_reply(f"name: good\n```cuda\n{code}```").name == "good"


def test_an_idea_in_braces_is_a_thought() -> None:
    assert parse_reply(f"{{use larger tiles everywhere}}\n{FENCED}").thought == "use larger tiles everywhere"


@pytest.mark.parametrize(
    "text", ["", "Sorry.", "```python\nprint(1)\n```", "```cuda\n```", '{"code": "no"}', "{" * 50]
)
def test_what_has_no_kernel_is_unparsable(text: str) -> None:
    assert parse_reply(text).code == ""


@given(st.text(max_size=300))
def test_nothing_raises(text: str) -> None:
    parse_reply(text)
    parse_reply(f"name: {text}\n```cuda\n{text}\n```")
    parse_reply(f'{{"code": "{text}')


@pytest.mark.parametrize(
    "reply",
    [
        f"name: tiled\nthought: it reuses data\n```python\n{FILE}```\n",
        f"name: tiled\nthought: it reuses data\n\n{FILE}\nThat is all: it is fast.\n",
        json.dumps({"name": "tiled", "thought": "it reuses data", "code": FILE}),
        f"<name>tiled</name><thought>it reuses data</thought><code>\n{FILE}</code>",
        f"A try:\n```python\n{FILE}# {'long ' * 30}\n```\nname: tiled\nthought: it reuses data\n```python\n{FILE}```\n",
    ],
    ids=["fenced", "bare", "json", "tags", "corrected"],
)
def test_a_python_file_in_any_of_the_forms(reply: str) -> None:
    parsed = parse_reply(reply)
    assert parsed.code.strip() == FILE.strip()
    assert (parsed.name, parsed.thought) == ("tiled", "it reuses data")
    turned = parse_reply(reply, Signature((Argument("x", "tensor", 1),)))
    assert turned.original == parsed.code
    assert "model_forward" in turned.code
    assert "import torch" not in turned.code


def test_a_python_file_that_cannot_be_read_stays_for_the_judge_to_refuse() -> None:
    reply = f"```python\n{FILE.replace('ext.forward(x)', 'torch.relu(x)')}```"
    parsed = parse_reply(reply, Signature((Argument("x", "tensor", 1),)))
    assert parsed.original == ""
    assert "torch.relu" in parsed.code


def test_what_was_used_and_edited_is_no_part_of_the_thought() -> None:
    """Found in a recording: an insight ended in "used: 2"."""
    given = "name: n\nthought: It reads less.\nused: 2\ncode:\n```cuda\nPYBIND11_MODULE(a, b) {}\n```\n"
    assert parse_reply(given).thought == "It reads less."
    given = (
        "name: n\nthought: It reads less.\nedit: kernel 3\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    )
    assert parse_reply(given).thought == "It reads less."
