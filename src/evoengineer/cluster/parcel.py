"""What travels to a node: a problem with its files, a build with its library. Packed here, unpacked there."""

from __future__ import annotations

import pickle
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evoengineer.files import digest, private_folder
from evoengineer.kernel.build import Build
from evoengineer.kernel.resources import KernelResources
from evoengineer.problem.catalog import Description, description_from_json, description_to_json
from evoengineer.problem.files import files_of

_PROBLEM, _BASELINE = "problem", "baseline"  # folders of an unpacked problem
_unpacked: dict[str, Description] = {}  # in this process, by the digest of the parcel


def pack_problem(description: Description) -> bytes:
    """The record, and every file that the reference needs."""
    problem = description.problem
    folder = problem.path.parent
    files: dict[str, bytes] = {}
    for path in files_of(problem):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.parent.name != "__pycache__":
                files[f"{_PROBLEM}/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
    record = {**description_to_json(description), "path": f"{_PROBLEM}/{problem.path.name}"}
    if problem.baseline is not None:
        record["baseline"] = f"{_BASELINE}/{problem.baseline.name}"
        files[record["baseline"]] = problem.baseline.read_bytes()
    return pickle.dumps((record, files))


def unpack_problem(data: bytes) -> Description:
    """The problem in a folder of this process; the same one for the same parcel."""
    key = digest(data)
    if key not in _unpacked:
        record, files = pickle.loads(data)
        root = private_folder()
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        for name in ("path", "baseline"):
            record[name] = str(root / record[name]) if record[name] else None
        _unpacked[key] = description_from_json(record)
    return _unpacked[key]


def pack_build(build: Build) -> bytes:
    """The library and all that is known of it."""
    values: dict[str, Any] = {
        **asdict(build),
        "library": build.library.read_bytes(),
        "ptx": build.ptx.read_bytes(),
    }
    return pickle.dumps(values)


def unpack_build(data: bytes, folder: Path) -> Build:
    """The build, its files in the folder."""
    values = pickle.loads(data)
    for name, file in (("library", "kernel.so"), ("ptx", "kernel.ptx")):
        (folder / file).write_bytes(values[name])
        values[name] = folder / file
    values["resources"] = tuple(KernelResources(**each) for each in values["resources"])
    return Build(**values)
