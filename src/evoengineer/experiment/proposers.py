"""Proposers: opening what the settings choose to answer prompts, and what can be told of it before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.search.settings import Settings

if TYPE_CHECKING:
    from evoengineer.propose.protocol import Proposer


def open_proposer(settings: Settings) -> Proposer:
    """The recording, the endpoint or the rewriter that the settings choose, recorded if they say so."""
    from evoengineer.propose.recording import Match, Recorder, Replay

    proposer: Proposer
    if settings.replay is not None:
        proposer = Replay(Path(settings.replay), Match(settings.match))
    elif settings.model is not None:
        proposer = _open_models(settings)
    else:
        from evoengineer.propose.rewriter import Rewriter

        proposer = Rewriter()
    return proposer if settings.record is None else Recorder(proposer, Path(settings.record))


def _open_models(settings: Settings) -> Proposer:
    """One endpoint, or several that share the proposals."""
    from evoengineer.propose.several import Several, is_several, model_shares

    assert settings.model is not None
    if not is_several(settings.model):
        return _open_endpoint(settings, settings.model)
    shares = model_shares(settings.model)
    models: list[Proposer] = []
    try:
        models += [_open_endpoint(settings, name) for name, _ in shares]
    except BaseException:
        for each in models:
            each.close()
        raise
    return Several(settings.model, models, [share for _, share in shares], settings.escalate)


def _open_endpoint(settings: Settings, name: str) -> Proposer:
    from evoengineer.propose.endpoint import Endpoint, EndpointOptions, check_cost_cap
    from evoengineer.propose.prices import find_model
    from evoengineer.propose.retry import RetryPolicy

    model = find_model(name, Path(settings.prices) if settings.prices else None)
    check_cost_cap(model, settings.max_cost)
    return Endpoint(
        model,
        EndpointOptions(
            base_url=settings.base_url,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            reasoning_effort=settings.reasoning_effort,
            timeout_seconds=settings.timeout,
            concurrency=settings.concurrency,
            retry=RetryPolicy(attempts=settings.attempts),
        ),
    )


def proposer_name(settings: Settings) -> str:
    """The model's name, `replay` or `rewriter`."""
    return settings.model or ("replay" if settings.replay else "rewriter")


def check_proposer(settings: Settings) -> None:
    """A missing key, a file of prices or a recording that is none: said before the run has a name in the archive."""
    open_proposer(replace(settings, record=None)).close()


def price_known(settings: Settings) -> bool:
    """Whether what the proposer costs can be told. The rewriter and a recording cost nothing."""
    from evoengineer.propose.prices import find_model
    from evoengineer.propose.several import is_several, model_shares

    if settings.model is None:
        return True
    names = [settings.model]
    if is_several(settings.model):
        names = [name for name, _ in model_shares(settings.model)]
    prices = Path(settings.prices) if settings.prices else None
    return all(find_model(name, prices).price is not None for name in names)
