"""Fetching weights from their model hub, at a pinned revision."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from captain.models.catalog import WeightFile, Weights
from captain.models.transport import Progress, Unavailable, one_line, partial_path, watch, within

HUB_SECONDS = 8.0
"""A hub that has not answered by then counts as out of reach."""


def fetch_from_hub(entry: Weights, files: Sequence[WeightFile], folder: Path, progress: Progress) -> None:
    """Download `files` from the model hub at the pinned revision.

    Args:
        entry: The entry that the files belong to.
        files: What to fetch.
        folder: Where the partial files are built.
        progress: Told how far it is.

    Raises:
        Unavailable: The hub is out of reach or does not have a file.
    """
    staging = folder / ".hub"
    total, before = sum(file.size for file in files), 0
    for file in files:
        with watch(staging, before, file.size, total, file.filename, progress):
            found = download_from_hub(entry.repository, entry.revision, file, staging)
        os.replace(found, partial_path(folder, file))
        before += file.size
        progress(before, total, file.filename)
    shutil.rmtree(staging, ignore_errors=True)


def download_from_hub(repository: str, revision: str, file: WeightFile, staging: Path) -> Path:
    """Download one file with `huggingface_hub`, which continues what an earlier try left in `staging`.

    Args:
        repository: `owner/name`.
        revision: The commit.
        file: What to fetch; its size is compared before the download starts.
        staging: The folder the library works in.

    Returns:
        Path of the complete file.

    Raises:
        Unavailable: The hub is out of reach, has no such file, or another one under this name.
    """
    import huggingface_hub
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    def probe() -> int | None:
        url = huggingface_hub.hf_hub_url(repository, file.filename, revision=revision)
        return huggingface_hub.get_hf_file_metadata(url, token=False, timeout=HUB_SECONDS / 2).size

    size = within(HUB_SECONDS, probe, "the model hub")
    if size is not None and size != file.size:
        raise Unavailable(f"the model hub has another file as {file.filename!r}: {size} bytes, not {file.size}")
    silent = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        return Path(
            huggingface_hub.hf_hub_download(
                repository, file.filename, revision=revision, local_dir=staging, token=False, etag_timeout=HUB_SECONDS
            )
        )
    except Exception as error:  # The library raises errors of three HTTP stacks; all mean the same here.
        raise Unavailable(f"the model hub broke off: {one_line(error)}") from error
    finally:
        if not silent:
            enable_progress_bars()
