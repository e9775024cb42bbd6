"""The `evoengineer` command.

    evoengineer evolve PROBLEM                  search for a faster kernel
    evoengineer resume|show|export RUN          continue, inspect or take away a run; `runs` lists them
    evoengineer runs delete|rename|note RUN     keep the runs in order
    evoengineer archive check|recover|merge     archives as files: what is damaged, what can be saved, several as one
    evoengineer experience list|show|import|forget   techniques that runs have proved, for other problems
    evoengineer bench                           methods against each other over a suite
    evoengineer report [RUN|BENCH|ARCHIVE…]     tables, charts and best kernels as files to look at
    evoengineer serve                           a live dashboard in the browser
    evoengineer judge KERNEL.cu --problem P     a verdict on a kernel, with evidence and times
    evoengineer compare A.cu B.cu --problem P   both verdicts and profiles, on one card or several
    evoengineer problems [show|check P]         what can be optimised
    evoengineer integrity                       hostile kernels must be caught, honest ones must pass
    evoengineer sim run FILE.cu…     compile a CUDA program and run it on the simulated GPU
    evoengineer sim exec PROGRAM     run an executable that links libcudart dynamically
    evoengineer sim devices          list the cards that can be simulated
    evoengineer doctor               what was found on this machine, and what is missing

Exit codes: 0 success; 1 failure (or whatever the program itself returned); 2 wrong usage. Errors go to
stderr as `evoengineer: …`; a fault of our own shows its traceback only when $EVOENGINEER_TRACEBACK is set.
Each command group is a module of this package.
"""

import argparse
import errno
import io
import locale
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.files import remove_private_folders
from evoengineer.version import __version__

TRACEBACK_VARIABLE = "EVOENGINEER_TRACEBACK"


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of exiting, so that all errors look alike."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nTry '{self.prog} --help'.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _speak_plainly()
    try:
        code = _dispatch(words)
        return code if arguments is not None else _leave(code)
    except EvoEngineerError as error:
        return _report(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (OSError, ValueError) as error:
        if not _names_no_file(error):
            return _internal(error)
        return _report(UsageError(f"a name that no file can have: {error}"))
    except sqlite3.DatabaseError as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        advice = "`evoengineer archive check` says what is wrong with it"
        return _report(EvoEngineerError(f"the archive cannot be used: {error}; {advice}"))
    except Exception as error:
        return _internal(error)


def _internal(error: Exception) -> int:
    if os.environ.get(TRACEBACK_VARIABLE):
        raise error
    what = f"{type(error).__name__}: {error}"
    return _report(EvoEngineerError(f"internal error: {what} (set {TRACEBACK_VARIABLE}=1 to see where)"))


def _names_no_file(error: Exception) -> bool:
    """Too long, or with characters that no name can have; whoever asked the system for it wrote it."""
    if isinstance(error, OSError):
        return error.errno == errno.ENAMETOOLONG
    return "embedded null" in str(error) or isinstance(error, UnicodeEncodeError)


def _leave(code: int) -> int:
    """The interpreter waits for every thread at its end. A run whose time is up waits for none: the processes in
    which a kernel is being built and judged end with this one."""
    if any(thread.name == "closing" for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        remove_private_folders()
        os._exit(code)
    return code


def _speak_plainly() -> None:
    """Texts of ours and of others are UTF-8, whatever the system's locale: what a terminal cannot show is written
    with backslashes, and processes that we start read and write UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if locale.getencoding().lower() not in ("utf-8", "utf8"):
        os.environ.setdefault("PYTHONUTF8", "1")


def _tell_of_builds() -> None:
    from evoengineer.toolchain import native_build

    def tell(name: str) -> None:
        print(f"evoengineer: building {name} (once on this machine)", file=sys.stderr, flush=True)

    native_build.on_build = tell


@cache
def _parser() -> Parser:
    """All commands. Made once in a process: that takes longer than many a command."""
    from evoengineer.cli import (
        archive,
        bench,
        compare,
        doctor,
        evolve,
        experience,
        fake_endpoint,
        integrity,
        judge,
        problems,
        report,
        runs,
        serve,
        show,
        sim,
        suite,
    )

    parser = Parser(
        prog="evoengineer", description="Evolve CUDA kernels and judge them, with or without a GPU."
    )
    parser.add_argument("--version", action="version", version=f"evoengineer {__version__}")
    groups = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in (evolve, runs, archive, experience, show, bench, report, serve, compare, fake_endpoint):
        module.add_commands(groups)
    judge.add_commands(groups)
    integrity.add_commands(groups)
    problems.add_commands(groups)
    suite.add_commands(groups)
    sim.add_commands(groups)
    doctor.add_commands(groups)
    return parser


def _dispatch(words: list[str]) -> int:
    from evoengineer.cli.sim import split_arguments

    parser = _parser()
    if not words:
        parser.print_help()
        return 0
    _tell_of_builds()
    own, program_arguments = split_arguments(words)
    options, rest = parser.parse_known_args(own)
    options.program_arguments = program_arguments
    _place_rest(options, rest)
    code: int = options.command(options)
    return code


def _place_rest(options: argparse.Namespace, rest: list[str]) -> None:
    """argparse gives up on files that follow an option (`a.cu --threads 2 b.cu`): they are files all the same."""
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        hint = "; options for nvcc go in --nvcc-arg" if hasattr(options, "nvcc_arg") else ""
        raise UsageError(f"unknown option {', '.join(unknown)}{hint}")
    if rest and not hasattr(options, "files"):
        raise UsageError(f"unexpected argument {rest[0]!r}. Arguments for the program itself go after `--`.")
    if rest:
        options.files = [*options.files, *map(Path, rest)]


def _report(error: EvoEngineerError) -> int:
    sys.stdout.flush()
    details = error.details.rstrip()
    if details:
        print(details, file=sys.stderr)
    print(f"evoengineer: {error}", file=sys.stderr)
    return error.exit_code
