"""Judging: from a kernel's text to a verdict that can be trusted."""
