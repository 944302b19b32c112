"""A small library on disk, searched with hashed words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from captain.config import CaptainConfig, EmbeddingConfig, LibraryConfig, ModelSpec, ToolsConfig
from captain.library import Library

EXPERTS = {
    "number_theorist": ("Number theorist", "Works with primes, divisibility and modular arithmetic."),
    "geometer": ("Geometer", "Solves problems of triangles, circles and coordinates."),
    "chemist": ("Chemist", "Balances reactions and computes concentrations and yields."),
    "historian": ("Historian", "Places events and people in time and weighs sources."),
}


def _write(path: Path, experts: dict[str, tuple[str, str]]) -> Path:
    entries = [
        {"name": name, "title": title, "description": text, "instructions": "Work carefully."}
        for name, (title, text) in experts.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"domain": "science", "profiles": entries}), encoding="utf-8")
    return path


@pytest.fixture
def write_experts() -> Callable[[Path, dict[str, tuple[str, str]]], Path]:
    return _write


@pytest.fixture
def make_library(tmp_path: Path) -> Callable[..., Library]:
    source = _write(tmp_path / "source" / "experts.yaml", EXPERTS)

    def make(*, tools: list[str] | None = None, embedding: EmbeddingConfig | None = None, **library: Any) -> Library:
        settings = {"profiles": [str(source)], "user_dir": str(tmp_path / "user"), "threshold": 0.2, **library}
        return Library(
            CaptainConfig(
                model=ModelSpec(name="none", provider="scripted"),
                embedding=embedding or EmbeddingConfig(provider="hash"),
                library=LibraryConfig(**settings),
                tools=ToolsConfig(modules=tools or [], threshold=0.2),
            )
        )

    return make
