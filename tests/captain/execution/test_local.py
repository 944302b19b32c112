"""The local executor through its public interface: results, limits, environment, leftovers."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor

from captain.config import ExecutionConfig
from captain.execution import build_executor
from captain.execution.blocks import ProgramResult


async def run(executor: CodeExecutor, *blocks: tuple[str, str]) -> ProgramResult:
    result = await executor.execute_code_blocks(
        [CodeBlock(code, language) for language, code in blocks], CancellationToken()
    )
    assert isinstance(result, ProgramResult)
    return result


def alive(mark: str) -> list[int]:
    """Processes whose command line holds the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture
def executor(tmp_path: Path) -> CodeExecutor:
    return build_executor(ExecutionConfig(timeout=20), folder=tmp_path / "run")


@pytest.fixture
def hasty(tmp_path: Path) -> CodeExecutor:
    return build_executor(ExecutionConfig(timeout=1), folder=tmp_path / "run")


async def test_python_and_shell_run_in_the_folder(executor: CodeExecutor, tmp_path: Path) -> None:
    write = "open('data.txt', 'w').write('four')\nimport os\nprint(os.getcwd())"
    result = await run(executor, ("python", write), ("bash", "cat data.txt"), ("sh", "echo; echo end"))
    assert result.exit_code == 0
    assert result.output == f"{tmp_path / 'run'}\nfour\n\nend"
    assert result.code_file is not None and Path(result.code_file).parent == tmp_path / "run"


async def test_same_interpreter_in_python_and_shell(executor: CodeExecutor) -> None:
    show = "import sys; print(sys.executable)"
    result = await run(executor, ("py", show), ("bash", f"python -c '{show}'"))
    first, second = result.output.split()
    assert first == sys.executable
    assert Path(second).resolve() == Path(sys.executable).resolve()


async def test_module_written_before_can_be_imported(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "open('m.py', 'w').write('x = 5')"), ("python", "import m\nm.x"))
    assert result.output.splitlines()[-1] == "5"


async def test_source_in_any_script(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "名 = 'Café ☕ 例 🚀'\n名"), ("bash", "echo 'ünï 例 🚀'"))
    assert result.output == "Café ☕ 例 🚀\nünï 例 🚀"


async def test_stops_at_the_first_failure(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "1"), ("bash", "exit 7"), ("python", "print('never')"))
    assert result.exit_code == 7
    assert "never" not in result.output


@pytest.mark.parametrize("name", ["../x.py", "/tmp/captain_escape.py", "a/../../x.py", "sub/y.py"])
async def test_file_names_from_the_model_are_ignored(executor: CodeExecutor, tmp_path: Path, name: str) -> None:
    result = await run(executor, ("python", f"# filename: {name}\nprint(1)"))
    assert (result.exit_code, result.output) == (0, "1")
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert written == {"run/program_1.py"}


async def test_traceback_is_short_and_shows_the_own_line(executor: CodeExecutor) -> None:
    code = "import json\n\ndef load(text):\n    return json.loads(text)\n\nload('{broken')"
    result = await run(executor, ("python", code))
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[1:5] == [
        '  File "program.py", line 6, in <module>',
        "    load('{broken')",
        '  File "program.py", line 4, in load',
        "    return json.loads(text)",
    ]
    assert '"json/decoder.py"' in lines[5]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert len(lines) == 8


async def test_traceback_of_a_deep_recursion_is_short(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "def f(n):\n    return g(n)\ndef g(n):\n    return f(n + 1)\nf(0)"))
    assert "RecursionError" in result.output
    assert len(result.output) < 700


async def test_chained_errors_keep_their_messages(executor: CodeExecutor) -> None:
    code = "try:\n    {}['size']\nexcept KeyError as error:\n    raise ValueError('no such column') from error"
    result = await run(executor, ("python", code))
    assert "KeyError: 'size'" in result.output
    assert result.output.endswith("ValueError: no such column")
    assert result.output.count("Traceback") == 1


async def test_repeated_message_of_a_chain_is_said_once(executor: CodeExecutor) -> None:
    code = "try:\n    {}['size']\nexcept KeyError as error:\n    raise KeyError('size') from error"
    assert (await run(executor, ("python", code))).output.count("KeyError: 'size'") == 1


async def test_high_exit_code_is_no_signal(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "import sys\nsys.exit(200)"))
    assert (result.exit_code, result.output) == (200, "")


async def test_shell_error_names_our_file(executor: CodeExecutor) -> None:
    result = await run(executor, ("bash", "echo ok\nno_such_command"))
    assert result.exit_code == 127
    assert result.output.splitlines()[1].startswith("program.sh: line 2: no_such_command")


async def test_syntax_error_names_our_file(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "x = 1\ny = (2\n"))
    assert result.exit_code == 1
    assert 'File "program.py", line 2' in result.output and "SyntaxError" in result.output


async def test_value_is_shown(executor: CodeExecutor) -> None:
    assert (await run(executor, ("python", "x = 20\nx + 1"))).output == "21"
    assert (await run(executor, ("python", "    x = 5\n    y = x * 2"))).output == "10"


async def test_output_of_a_good_run_holds_only_what_was_printed(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "import math\ndef f():\n    return 1"))
    assert (result.exit_code, result.output) == (0, "")


async def test_input_fails_at_once(executor: CodeExecutor) -> None:
    began = time.monotonic()
    result = await run(executor, ("python", "n = int(input('n? '))\nprint(n)"))
    assert result.exit_code == 1
    assert "input() cannot be used" in result.output
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("language", ["javascript", "r"])
async def test_other_languages_are_refused(executor: CodeExecutor, language: str) -> None:
    result = await run(executor, (language, "x"))
    assert result.exit_code == 1 and repr(language) in result.output


async def test_block_without_language(executor: CodeExecutor) -> None:
    assert (await run(executor, ("", "print(6 * 7)"))).output == "42"
    assert (await run(executor, ("", "some prose, no code"))).exit_code == 1


async def test_no_blocks(executor: CodeExecutor) -> None:
    assert (await run(executor)).exit_code == 1


async def test_environment_holds_no_keys(
    executor: CodeExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "MY_TOKEN", "db_password", "APP_SECRET", "UNKNOWN_SETTING"):
        monkeypatch.setenv(name, "hidden-value")
    result = await run(executor, ("python", "import os\nfor item in sorted(os.environ.items()): print(item)"))
    assert "hidden-value" not in result.output
    places = "import os, tempfile\nprint(os.environ['HOME'])\nprint(tempfile.gettempdir())"
    folder = str(tmp_path / "run")
    assert (await run(executor, ("python", places))).output.split() == [folder, f"{folder}/tmp"]
    assert (await run(executor, ("bash", "env"))).output.count("hidden-value") == 0


async def test_utf8_whatever_the_locale(executor: CodeExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = await run(executor, ("python", "open('f.txt', 'w').write('例')\nprint(open('f.txt').read(), '🚀')"))
    assert result.output.endswith("例 🚀")


async def test_timeout_has_its_code_and_sentence(hasty: CodeExecutor) -> None:
    began = time.monotonic()
    result = await run(hasty, ("python", "print('begun')\nimport time\ntime.sleep(30)"))
    assert result.exit_code == 124
    assert result.output.startswith("begun")
    assert "longer than 1 seconds" in result.output
    assert time.monotonic() - began < 5


async def test_timeout_counts_when_output_is_closed_early(hasty: CodeExecutor) -> None:
    result = await run(hasty, ("python", "import os, time\nos.close(1); os.close(2)\ntime.sleep(30)"))
    assert result.exit_code == 124


GRANDCHILD = """
import subprocess, sys, time
canary = "import time; time.sleep(2); open('canary', 'w').write('x')  # {mark}"
subprocess.Popen([sys.executable, '-c', canary]{options})
print('started')
{end}
"""

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(30)  # {mark}'])
    os._exit(0)
os.wait()
time.sleep(0.3)
print('started')
"""


@pytest.mark.parametrize("options", ["", ", start_new_session=True", ", stdout=subprocess.DEVNULL"])
@pytest.mark.parametrize("end", ["time.sleep(30)", "pass"])
async def test_grandchildren_do_not_survive(hasty: CodeExecutor, tmp_path: Path, options: str, end: str) -> None:
    mark = f"mark-{tmp_path.name}"
    result = await run(hasty, ("python", GRANDCHILD.format(mark=mark, options=options, end=end)))
    assert result.exit_code == (124 if end != "pass" else 0)
    assert "started" in result.output
    assert alive(mark) == []


async def test_canary_is_never_written(hasty: CodeExecutor, tmp_path: Path) -> None:
    await run(hasty, ("python", GRANDCHILD.format(mark="canary", options="", end="time.sleep(30)")))
    await asyncio.sleep(1.5)
    assert not (tmp_path / "run" / "canary").exists()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="daemons are found through /proc")
async def test_double_forked_daemon_is_found(executor: CodeExecutor, tmp_path: Path) -> None:
    mark = f"daemon-{tmp_path.name}"
    result = await run(executor, ("python", DAEMON.format(mark=mark)))
    assert result.output == "started"
    assert alive(mark) == []


async def test_shell_background_job_is_killed(executor: CodeExecutor, tmp_path: Path) -> None:
    result = await run(executor, ("bash", "nohup env -i sleep 31.4159 & echo ok"))
    assert "ok" in result.output
    assert alive("31.4159") == []


async def test_cancellation_kills_what_runs(executor: CodeExecutor, tmp_path: Path) -> None:
    mark, token = f"cancel-{tmp_path.name}", CancellationToken()
    code = GRANDCHILD.format(mark=mark, options=", start_new_session=True", end="time.sleep(30)")
    task = asyncio.create_task(executor.execute_code_blocks([CodeBlock(code, "python")], token))
    while not alive(mark):
        await asyncio.sleep(0.05)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(mark) == []


async def test_stop_kills_what_runs(executor: CodeExecutor, tmp_path: Path) -> None:
    mark = f"stop-{tmp_path.name}"
    async with executor:
        task = asyncio.create_task(run(executor, ("python", f"import time\ntime.sleep(30)  # {mark}")))
        while not list((tmp_path / "run").glob("program_*")):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
    result = await asyncio.wait_for(task, 5)
    assert result.exit_code == 137
    assert not (tmp_path / "run" / "tmp").exists()


async def test_hundred_megabytes_are_stopped_without_memory(executor: CodeExecutor) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    result = await run(executor, ("python", "for _ in range(100):\n    print('x' * 1_000_000)"))
    assert result.exit_code == 125
    assert "printed far too much" in result.output
    assert len(result.output) < 6600
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert time.monotonic() - began < 10


async def test_long_output_keeps_both_ends(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "print('first')\nprint('y' * 3_000_000)\nprint('last')"))
    assert result.exit_code == 0
    assert result.output.startswith("first") and result.output.endswith("last")
    assert "3,000,012 bytes" in result.output
    assert len(result.output) < 6500


async def test_two_at_once_in_one_folder(executor: CodeExecutor, tmp_path: Path) -> None:
    other = build_executor(ExecutionConfig(), folder=tmp_path / "run")
    same = "import time\ntime.sleep(0.3)\n__file__"
    began = time.monotonic()
    results = await asyncio.gather(*(run(one, ("python", same)) for one in (executor, other, executor, other)))
    assert time.monotonic() - began < 2
    assert all(result.exit_code == 0 for result in results)
    assert len({result.code_file for result in results}) == 4


async def test_crash_by_a_signal_is_named(executor: CodeExecutor) -> None:
    result = await run(executor, ("python", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"))
    assert result.exit_code == 139
    assert "SIGSEGV" in result.output


def test_runs_in_a_worker_thread(tmp_path: Path) -> None:
    async def once() -> str:
        return (await run(build_executor(ExecutionConfig(), folder=tmp_path), ("python", "1 + 1"))).output

    async def outer() -> str:
        return await asyncio.to_thread(asyncio.run, once())

    assert asyncio.run(outer()) == "2"
