"""`captain library add | lint | forget | promote | edit`: checking a library, and changing one's own."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from captain.cli.library import open_library
from captain.cli.terminal import notice, output, say
from captain.errors import CaptainError, ConfigError

if TYPE_CHECKING:
    from captain.library import AgentProfile, Library
    from captain.library.lint import Fault, LintReport


def add_experts(file: Path, overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Checks a file of profiles and copies its experts into the user's library."""
    if file.suffix == ".py":
        raise ConfigError(f"{str(file)!r} holds tools; name its module in tools.modules instead of adding it")
    if not file.is_file():
        raise ConfigError(f"the file {str(file)!r} does not exist; give a YAML file of profiles")
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        report = _lint(library, [str(file)])
        _refuse(report, f"nothing of {str(file)!r} was added")
        profiles = _profiles_in(file)
        library.keeper.add(profiles)
        _follow(library)
        names = [profile.name for profile in profiles]
        emit({"added": names, "folder": str(library.keeper.folder("user")), "faults": _data(report)})
        if not as_json:
            say(f"added {', '.join(names)} to {library.keeper.folder('user')}")


def show_faults(words: Sequence[str], *, strict: bool, config_dir: Path | None, as_json: bool) -> int:
    """Looks a library over and shows its faults.

    Returns:
        The exit code: 2 when there are errors, or with `strict` any faults.
    """
    paths = [word for word in words if not _is_setting(word)]
    with output(as_json) as emit:
        library = open_library([word for word in words if _is_setting(word)], config_dir)
        report = _lint(library, paths)
        warnings = len(report.faults) - report.errors
        bad = report.errors > 0 or (strict and warnings > 0)
        counts = {"experts": report.experts, "tools": report.tools, "errors": report.errors, "warnings": warnings}
        emit({"ok": not bad, **counts, "unchecked": list(report.unchecked), "faults": _data(report)})
        if not as_json:
            for fault in report.faults:
                say(f"{_line(fault)}  ->  {fault.remedy}")
            for reason in report.unchecked:
                notice(f"not checked: {reason}")
            found = f"{report.errors} errors, {warnings} warnings" if report.faults else "no faults"
            say(f"{found} in {report.experts} experts and {report.tools} tools")
    return 2 if bad else 0


def forget_expert(name: str, overrides: Sequence[str], *, yes: bool, config_dir: Path | None, as_json: bool) -> int:
    """Removes an expert of the user's folder; on a terminal only after a yes.

    Returns:
        The exit code: 1 when the user did not want it.
    """
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        path = library.keeper.place(name)
        if not yes and not as_json and sys.stdin.isatty() and not _agrees(f"Forget {name!r} ({path})?"):
            notice("nothing was forgotten")
            return 1
        library.forget(name)
        _follow(library)
        emit({"forgotten": name, "file": str(path)})
        if not as_json:
            say(f"forgot {name}; {path} is gone")
    return 0


def promote_expert(name: str, overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Makes a written expert the user's own."""
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        library.keeper.promote(name)
        path = library.keeper.place(name)
        emit({"promoted": name, "file": str(path)})
        if not as_json:
            say(f"{name} is your own now: {path}")


def edit_expert(name: str, overrides: Sequence[str], *, config_dir: Path | None, as_json: bool) -> None:
    """Lets the user edit a copy of an expert's file and takes it when it has no errors."""
    with output(as_json) as emit:
        library = open_library(overrides, config_dir)
        path = library.keeper.place(name)
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
        changed = False
        if editor.strip() and sys.stdin.isatty():
            changed = _edit(library, name, path, shlex.split(editor))
        emit({"name": name, "file": str(path), "changed": changed})
        if not as_json:
            say(f"{name} was changed" if changed else str(path))


def _edit(library: Library, name: str, path: Path, editor: Sequence[str]) -> bool:
    before = path.read_text(encoding="utf-8")
    copy = Path(tempfile.mkdtemp(prefix="captain-edit-")) / path.name
    copy.write_text(before, encoding="utf-8")
    try:
        done = subprocess.run([*editor, str(copy)], check=False)
    except OSError as error:
        raise ConfigError(f"the editor {editor[0]!r} cannot be started ({error.strerror}); set EDITOR") from error
    if done.returncode != 0:
        raise ConfigError(f"the editor ended with code {done.returncode}; {name!r} stays as it was")
    if copy.read_text(encoding="utf-8") == before:
        return False
    kept = f"{name!r} stays as it was, and your text lies in {str(copy)!r}"
    _refuse(_lint(library, [str(copy)], instead_of=path), kept)
    if [profile.name for profile in _profiles_in(copy)] != [name]:
        raise ConfigError(f"the file must hold the one expert {name!r}; {kept}")
    library.keeper.rewrite(name, copy.read_text(encoding="utf-8"))
    _follow(library)
    copy.unlink()
    copy.parent.rmdir()
    return True


def _lint(library: Library, paths: Sequence[str], *, instead_of: Path | None = None) -> LintReport:
    from captain.library.lint import lint_library

    return asyncio.run(lint_library(library, paths, instead_of=instead_of))


def _refuse(report: LintReport, consequence: str) -> None:
    """Tells all faults and raises when there is an error among them."""
    for fault in report.faults:
        notice(_line(fault))
    errors = [fault for fault in report.faults if fault.severity == "error"]
    if errors:
        # A misspelt field is the cause of the missing one.
        first = min(errors, key=lambda fault: fault.kind == "missing-field")
        more = f" (and {report.errors - 1} more)" if report.errors > 1 else ""
        raise ConfigError(f"{first.where}: {first.message}{more}; {consequence}: {first.remedy}")


def _profiles_in(file: Path) -> list[AgentProfile]:
    from captain.library.profiles import load_profiles

    return load_profiles([str(file)])


def _follow(library: Library) -> None:
    """Brings the index to what changed; when that fails, the next search does it."""
    try:
        library.index()
    except CaptainError as error:
        notice(f"the index follows at the next search: {error}")


def _agrees(question: str) -> bool:
    notice(f"{question} [y/N]")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _is_setting(word: str) -> bool:
    return "=" in word or word.startswith("~")


def _line(fault: Fault) -> str:
    return f"{fault.where}: {fault.severity}: {fault.kind}: {fault.subject}: {fault.message}"


def _data(report: LintReport) -> list[dict[str, str]]:
    return [fault.to_dict() for fault in report.faults]
