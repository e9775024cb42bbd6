"""The archive: every run, durably, in one SQLite file.

schema.py      tables and migrations
store.py       opening the file; runs; the lock that keeps a run to one process
reading.py     what `runs`, `show` and the reports ask
canonical.py   a run without its wall-clock times, to compare two runs bit for bit
"""

from evoengineer.archive.store import Archive, RunRecord, default_archive

__all__ = ["Archive", "RunRecord", "default_archive"]
