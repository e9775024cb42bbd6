"""Reading the body of an endpoint's answer, whatever is in it: text, name of the model, why it ended, tokens.

Endpoints and the proxies before them are many, and some send content in parts, counts as text, or nonsense. What can
be understood is; the rest is `Malformed`, which the client treats as a call that failed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evoengineer.propose.protocol import clean_text

_MOST_TOKENS = 100_000_000  # in one call; no model reads or writes near that
_SHORT = 200  # characters of a name or a reason


class Malformed(Exception):
    """Not an answer; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it could be understood."""

    text: str
    model: str
    finish: str
    counts: tuple[int | None, int | None, int]  # tokens in, out and cached; None: a count that cannot be


def read_answer(body: str) -> Answer:
    """The first choice of a chat completion."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON that can be read ({type(error).__name__})") from error
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("an answer without choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise Malformed("a choice without a message")
    return Answer(
        text=clean_text(_text(message.get("content"))),
        model=_word(data.get("model")),
        finish=_word(choices[0].get("finish_reason")),
        counts=_counts(data.get("usage")),
    )


def _text(content: Any) -> str:
    """A text, or parts of which some have one."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part(each) for each in content)
    raise Malformed(f"content that is neither text nor parts but {type(content).__name__}")


def _part(part: Any) -> str:
    if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
        part = part.get("text")
        if isinstance(part, dict):  # {"type": "text", "text": {"value": …}}
            part = part.get("value")
    return part if isinstance(part, str) else ""


def _word(value: Any) -> str:
    return clean_text(value)[:_SHORT] if isinstance(value, str) else ""


def _counts(usage: Any) -> tuple[int | None, int | None, int]:
    if not isinstance(usage, dict):
        return 0, 0, 0
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    found = _count(usage.get("prompt_cache_hit_tokens") if cached is None else cached)
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), found or 0


def _count(value: Any) -> int | None:
    """A number of tokens, also as text; 0 where nothing is said, None where it cannot be true."""
    if value is None:
        return 0
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None
