"""The version, where every floor of the house may read it."""

__version__ = "0.1.0"
