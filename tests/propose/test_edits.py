"""Search-and-replace replies: exact application, and failures that carry their evidence."""

from __future__ import annotations

import pytest

from evoengineer.propose.edits import edited

KERNEL = "#include <x>\n__global__ void f() {\n    a();\n    b();  \n    a();\n}\nPYBIND11_MODULE(x, m) {}\n"


def block(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replacement}>>>>>>> REPLACE\n"


def test_blocks_are_applied_in_order_to_the_named_kernel() -> None:
    text = (
        "name: x\nedit: kernel 7\n```\n"
        + block("    b();\n", "    c();\n")
        + block("    c();\n", "")
        + "```\n"
    )
    made = edited(text, {3: "other\n", 7: KERNEL})
    assert made is not None
    assert made.code == KERNEL.replace("    b();  \n", "")


def test_a_single_kernel_need_not_be_named() -> None:
    made = edited(block("    b();\n", "    c();\n"), {7: KERNEL})
    assert made is not None
    assert "c();" in made.code


@pytest.mark.parametrize(
    ("text", "summary", "evidence"),
    [
        (
            block("    d();\n", "x\n"),
            "block 1 of 1 does not apply: its SEARCH text does not occur in kernel 7",
            "Nearest line of kernel 7",
        ),
        (block("    a();\n", "x\n"), "occurs 2 times in kernel 7", "Take more lines"),
        (block("\n", "x\n"), "searches for nothing", "lines to search"),
        (block("", "x\n"), "searches for nothing", "lines to search"),
        (
            "edit: kernel 9\n" + block("    b();\n", "x\n"),
            "names kernel 9, which the prompt did not show",
            "edit:",
        ),
        (
            block("    b();\n", "\n") + block("    b();\n", "x\n"),
            "block 2 of 2 does not apply",
            "Searched for",
        ),
    ],
)
def test_a_block_that_does_not_apply_is_a_failure_with_evidence(
    text: str, summary: str, evidence: str
) -> None:
    made = edited(text, {7: KERNEL})
    assert made is not None
    assert made.code == ""
    assert summary in made.summary
    assert evidence in made.evidence


def test_with_several_kernels_one_has_to_be_named() -> None:
    made = edited(block("    b();\n", "x\n"), {3: "other\n", 7: KERNEL})
    assert made is not None
    assert made.summary == "the edit names no kernel; it can change: kernel 3, kernel 7"


def test_a_reply_without_blocks_is_no_edit() -> None:
    assert edited("name: x\ncode:\n```cuda\n" + KERNEL + "```\n", {7: KERNEL}) is None
    assert edited("a <<<<<<< b >>>>>>> c", {7: KERNEL}) is None
