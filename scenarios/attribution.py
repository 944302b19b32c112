"""Who failed, and at which step: failed runs of other teams, judged by rules, by a model, and by both.

The logs are read from `$CAPTAIN_DATA` and hold questions that must not be shared: no text of them enters the run's
folder, only counts do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from captain.config import Settings
from captain.decide import score_continuations
from captain.errors import ConfigError
from captain.scenario import Journal, ScenarioResult, Solver
from scenarios.benchmarks import benchmark_file
from scenarios.metrics import wilson_interval
from scenarios.retrieval_data import halves

if TYPE_CHECKING:
    from captain.models import MeteredClient

_FAILED = re.compile(r"exitcode: [1-9]")
_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
_ASK = "Which step holds the first mistake that led to the wrong answer? The first mistake is in step"


@dataclass(frozen=True)
class Step:
    """One message of a log."""

    agent: str
    text: str

    @property
    def runs_code(self) -> bool:
        """Whether it comes from the executor."""
        return "terminal" in self.agent.lower()


@dataclass(frozen=True)
class Log:
    """A failed run with the agent and the step that people found to blame."""

    question: str
    steps: tuple[Step, ...]
    agent: str
    step: int


@dataclass(frozen=True)
class Verdict:
    """Whether a method named the right agent and the right step."""

    agent: bool
    step: bool


class Attribution(Settings):
    """Names agent and step of failed runs; what is chosen is chosen on one seeded half, and all logs are reported."""

    name: str = "attribution"
    folder: str = "Algorithm-Generated"
    """The logs: a folder of `who_and_when`."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many logs."""
    ask_model: bool = True
    """False: rules alone, no model is started."""
    characters: int = Field(default=260, ge=40)
    """What the model reads of each step: its beginning and end."""
    parameters: dict[str, Any] = Field(default_factory=dict)

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        """Judge the logs; see `captain.scenario.Scenario`.

        Raises:
            ConfigError: The logs are not there, or the endpoint gives no log-probabilities.
        """
        logs = _read(self.folder)[: self.limit]
        seed = captain.config.seed
        scores: list[list[float]] = []
        spent: dict[str, Any] = {}
        if self.ask_model:
            scores, spent = await self._scores(captain, logs, journal)
        methods: dict[str, list[int]] = {
            "first step": [0 for _ in logs],
            "rules": [rule_step(log.steps) for log in logs],
        }
        settings: dict[str, Any] = {}
        if scores:
            level = _levels(scores)
            flat = [_centred(row, level) for row in scores]
            methods["model, as it is"] = [_best(row) for row in scores]
            methods["model"] = [_best(row) for row in flat]
            weight = self._weight(logs, flat, seed)
            methods["model and rules"] = [
                _best(_lifted(row, rule_step(log.steps), weight)) for row, log in zip(flat, logs, strict=True)
            ]
            settings = {"weight_of_rules": weight}
        rows = [row for name, steps in methods.items() for row in _rows(name, logs, steps, seed)]
        best = next(row for row in reversed(rows) if row["part"] == "all")
        summary = {
            "logs": len(logs),
            "model": captain.config.model.name if scores else None,
            "characters": self.characters,
            **settings,
            **spent,
        }
        headline = {"method": best["method"], "agent": best["agent"], "step": best["step"]}
        return ScenarioResult(name=self.name, summary=summary, rows=rows, headline=headline)

    async def _scores(
        self, captain: Solver, logs: Sequence[Log], journal: Journal
    ) -> tuple[list[list[float]], dict[str, Any]]:
        """For each log how likely the model makes the number of each step."""
        from captain.models import ModelRouter

        router = ModelRouter(captain.config)
        client: MeteredClient = router.client("reflector")
        try:
            scores = []
            for number, log in enumerate(logs, start=1):
                texts = [f" {step}" for step in range(len(log.steps))]
                found = await score_continuations(client, self._prompt(log), texts)
                if found is None:
                    raise ConfigError(
                        f"model {client.spec.name!r} gives no log-probabilities of a given text; use model=embedded, "
                        "or scenario.ask_model=false"
                    )
                scores.append(found)
                journal.write("progress", text=f"[{number}/{len(logs)}] scored", done=number, total=len(logs))
            usage = router.usage()
            return scores, {"calls": usage.calls, "seconds": round(usage.seconds, 1), "judge": client.spec.name}
        finally:
            await router.aclose()

    def _prompt(self, log: Log) -> str:
        lines = [
            f"Step {number} by {step.agent}: {_cut(step.text, self.characters)}"
            for number, step in enumerate(log.steps)
        ]
        chat = "\n".join(lines)
        return f"A team got this question wrong.\nQuestion: {_cut(log.question, 300)}\n\n{chat}\n\n{_ASK}"

    def _weight(self, logs: Sequence[Log], scores: Sequence[Sequence[float]], seed: int) -> float:
        """How much the rules count beside the model: the best on the half that is tuned on."""
        pairs, _ = halves(list(zip(logs, scores, strict=True)), seed=seed)
        if not pairs:
            return 0.0

        def right(weight: float) -> int:
            named = [_best(_lifted(row, rule_step(log.steps), weight)) for log, row in pairs]
            judged = [judge(log, step) for (log, _), step in zip(pairs, named, strict=True)]
            return sum(verdict.agent + verdict.step for verdict in judged)

        return max(_WEIGHTS, key=right)


def rule_step(steps: Sequence[Step]) -> int:
    """The step that rules name, without a model.

    The author of the first program that failed when it was run; where none failed, the first member who wrote a
    program; else the first member to answer.
    """
    for place, step in enumerate(steps):
        if place and _FAILED.search(step.text):
            return next((n for n in range(place - 1, -1, -1) if not steps[n].runs_code), 0)
    members = [place for place, step in enumerate(steps) if not step.runs_code]
    coded = [place for place in members if "```" in steps[place].text]
    return next(iter(coded), min(1, len(steps) - 1))


def judge(log: Log, step: int) -> Verdict:
    """Compares a step, and the agent who spoke there, with the annotation."""
    return Verdict(log.steps[step].agent == log.agent, step == log.step)


def _rows(method: str, logs: Sequence[Log], steps: Sequence[int], seed: int) -> list[dict[str, Any]]:
    judged = [judge(log, step) for log, step in zip(logs, steps, strict=True)]
    tuned, held = halves(judged, seed=seed)
    rows = []
    for part, verdicts in (("tuned on", tuned), ("held out", held), ("all", judged)):
        n = len(verdicts)
        row: dict[str, Any] = {"method": method, "part": part, "n": n}
        for what in ("agent", "step"):
            right = sum(getattr(verdict, what) for verdict in verdicts)
            low, high = wilson_interval(right, n)
            row |= {what: round(right / n, 4) if n else None, f"{what}_ci95": [round(low, 4), round(high, 4)]}
        rows.append(row)
    return rows


def _levels(scores: Sequence[Sequence[float]]) -> list[float]:
    """The mean of what each number gets, over all logs: small models like some numbers whatever stands there."""
    longest = max(map(len, scores))
    columns = [[row[place] for row in scores if place < len(row)] for place in range(longest)]
    return [math.fsum(column) / len(column) for column in columns]


def _centred(row: Sequence[float], level: Sequence[float]) -> list[float]:
    return [value - level[place] for place, value in enumerate(row)]


def _lifted(row: Sequence[float], place: int, weight: float) -> list[float]:
    return [value + (weight if n == place else 0.0) for n, value in enumerate(row)]


def _best(row: Sequence[float]) -> int:
    return max(range(len(row)), key=lambda place: row[place])


def _cut(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most * 2 // 3]} ... {plain[-(most // 3) :]}"


def _read(folder: str) -> list[Log]:
    place = benchmark_file("who_and_when", folder)
    files = sorted(place.glob("*.json"), key=lambda path: (len(path.stem), path.stem))
    if not files:
        raise ConfigError(f"{str(place)!r} holds no logs (*.json)")
    return [_log(json.loads(path.read_text(encoding="utf-8"))) for path in files]


def _log(data: Mapping[str, Any]) -> Log:
    steps = tuple(Step(str(m.get("name") or m.get("role") or ""), str(m.get("content") or "")) for m in data["history"])
    return Log(str(data["question"]), steps, str(data["mistake_agent"]), int(data["mistake_step"]))
