"""What only a process of its own can show: the entry point, its speed, and stdout that child code cannot soil."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

START = "import sys; from captain.cli import main; sys.exit(main())"
SOILING = """
import ctypes, os, subprocess, sys

def reply(messages):
    print("print")
    os.write(1, b"descriptor\\n")
    ctypes.CDLL(None).puts(b"buffered by C")
    subprocess.run([sys.executable, "-c", "print('child')"], check=True)
    return "FINAL ANSWER: \\U0001f642 \\u674e"
"""


def run(*words: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **env}
    return subprocess.run(
        [sys.executable, "-c", START, *words], cwd=folder, env=variables, capture_output=True, text=True, timeout=100
    )


def test_help_is_quick_and_loads_nothing_heavy(tmp_path: Path) -> None:
    start = time.perf_counter()
    shown = run("--help", folder=tmp_path)
    assert time.perf_counter() - start < 3.0  # a loaded machine; on an idle one it is far below 0.7
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in ("solve", "run", "doctor", "library", "models", "version"))
    check = "import sys; import captain.cli.app; print([m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    for heavy in ("hydra", "pydantic", "autogen_core", "openai", "numpy", "chromadb", "torch", "pandas"):
        assert f"'{heavy}'" not in loaded


def test_stdout_holds_the_json_alone(tmp_path: Path) -> None:
    (tmp_path / "soiling.py").write_text(SOILING)
    settings = ["model=scripted", "model.handler=soiling.reply", "team.mode=single", "embedding=hash"]
    done = run("solve", "x", *settings, "--json", folder=tmp_path, PYTHONPATH=str(tmp_path), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == "\U0001f642 \u674e"
    assert done.stdout.count("\n") == 1
    for text in ("print", "descriptor", "buffered by C", "child"):
        assert text in done.stderr
