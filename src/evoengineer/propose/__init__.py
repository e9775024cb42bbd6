"""Proposers: what answers a prompt. An endpoint, a recording, or the source rewriter; see `protocol.py`."""
