"""How well the library finds: experts by domain, abstention, and tools, without asking a model."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import Field

from captain.config import Settings
from captain.diagnosis import unknown_name
from captain.errors import ConfigError
from captain.scenario import Journal, ScenarioResult, Solver
from scenarios.metrics import wilson_interval
from scenarios.retrieval_data import Problem, halves, out_of_domain_queries, read_problems, tools_of_concepts

if TYPE_CHECKING:
    from captain.library import AgentProfile, Hit, Library
    from captain.library.hits import Rules

Found = Sequence["Hit[AgentProfile]"]
_TOP = 3
_TOOLS = 5
_STEPS = 0.02
_HALVES = ("tuned on", "held out")


class Retrieval(Settings):
    """Searches the expert library with 1,501 problem texts, and the tool library with those about tables.

    A problem is found when an expert of its class stands first (`domain@1`) or among the first three (`domain@3`).
    Everything was tuned on a seeded half of the problems and of the out-of-domain queries; the other half is reported.
    """

    name: str = "retrieval"
    classes: dict[str, list[str]]
    """Source of a problem -> the classes that are right for it."""
    domains: dict[str, list[str]]
    """Class -> the domains of profiles that belong to it."""
    ablate: bool = True
    """Also search by meaning alone, by words alone, and without the field."""
    parameters: dict[str, Any] = Field(default_factory=dict)

    async def run(self, captain: Solver, journal: Journal) -> ScenarioResult:
        """Search and count; see `captain.scenario.Scenario`.

        Raises:
            ConfigError: Data are missing, or the mapping names a domain or a tool that the library has not.
        """
        from captain.library import Library

        config = captain.config
        with tempfile.TemporaryDirectory(prefix="captain-retrieval-") as folder:
            if config.library.user_dir is None:
                # Experts that this user keeps are not what is measured, unless their folder is named.
                alone = config.library.model_copy(update={"user_dir": folder})
                config = config.model_copy(update={"library": alone})
            return await self._measure(Library(config), captain, journal)

    async def _measure(self, library: Library, captain: Solver, journal: Journal) -> ScenarioResult:
        self._check(library)
        problems, strangers = read_problems(), out_of_domain_queries()
        journal.write("progress", text=f"{len(problems)} problems, {len(library.experts())} experts")
        texts = [*(problem.text for problem in problems), *strangers]
        variants = self._variants(library)
        surveyed = await library.survey_experts(texts, rules=list(variants.values()), top_k=_TOP)
        rows: list[dict[str, Any]] = []
        found: dict[str, Sequence[Found]] = dict(zip(variants, surveyed, strict=True))
        for variant, hits in found.items():
            rows += self._domain_rows(variant, problems, hits[: len(problems)], seed=captain.config.seed)
        settings = captain.config.library.threshold
        best = found[next(iter(variants))]
        thresholds = self._threshold_rows(
            best[: len(problems)], best[len(problems) :], chosen=settings, seed=captain.config.seed
        )
        tools = await self._tool_rows(library, problems, strangers, seed=captain.config.seed)
        tables = {"domains.csv": rows, "thresholds.csv": thresholds, "tools.csv": tools}
        for name, table in tables.items():
            _write_csv(journal, name, table)
        summary = self._summary(captain, rows, thresholds, tools) | {"experts": len(library.experts())}
        held = next(
            row for row in rows if (row["variant"], row["half"], row["source"]) == ("configured", "held out", "all")
        )
        return ScenarioResult(
            name=self.name,
            summary=summary,
            rows=[*rows, *thresholds, *tools],
            artifacts=list(tables),
            headline={name: held[name] for name in ("domain@1", "domain@3")},
        )

    def _check(self, library: Library) -> None:
        """Refuses a mapping that fits the library no longer."""
        known = {profile.domain for profile in library.experts()}
        for name in sorted({domain for domains in self.domains.values() for domain in domains} - known):
            raise ConfigError(unknown_name("domain of experts", name, sorted(known)))
        for name in sorted({name for names in self.classes.values() for name in names} - set(self.domains)):
            raise ConfigError(unknown_name("class", name, sorted(self.domains)))
        tools = {tool.name for tool in library.tools()}
        for name in sorted({name for names in tools_of_concepts().values() for name in names} - tools):
            raise ConfigError(unknown_name("tool in dabench_tools.yaml", name, sorted(tools)))

    def _variants(self, library: Library) -> dict[str, Rules]:
        """The configured way of searching first; no threshold, so that it can be studied afterwards."""
        hybrid = replace(library.expert_rules(), threshold=-math.inf)
        if not self.ablate:
            return {"configured": hybrid}
        plain = replace(hybrid, domain_share=0.0, spread=0.0)
        return {
            "configured": hybrid,
            "dense only": replace(plain, lexical_share=0.0),
            "lexical only": replace(plain, dense_share=0.0, lexical_share=1.0),
            "hybrid, no field": plain,
            "field without its words": replace(hybrid, domain_words=0.0),
            "field, not spread": replace(hybrid, spread=0.0),
            "spread, no field": replace(hybrid, domain_share=0.0),
        }

    def _domain_rows(
        self, variant: str, problems: Sequence[Problem], found: Sequence[Found], *, seed: int
    ) -> list[dict[str, Any]]:
        right = {
            source: {domain for name in names for domain in self.domains[name]}
            for source, names in self.classes.items()
        }
        judged = [
            (problem.source, [hit.item.domain in right[problem.source] for hit in hits])
            for problem, hits in zip(problems, found, strict=True)
        ]
        rows = []
        for half, part in zip(_HALVES, halves(judged, seed=seed), strict=True):
            for source in ["all", *dict.fromkeys(source for source, _ in part)]:
                of_source = [flags for name, flags in part if source in ("all", name)]
                rows.append({"variant": variant, "half": half, "source": source, **_rates(of_source)})
        return rows

    def _threshold_rows(
        self, inside: Sequence[Found], outside: Sequence[Found], *, chosen: float, seed: int
    ) -> list[dict[str, Any]]:
        """For each threshold how often strangers and problems find nobody; the configured one is marked."""
        best = [[_nearest(hits) for hits in found] for found in (inside, outside)]
        parts = [halves(values, seed=seed) for values in best]
        rows = []
        for value in sorted({round(step * _STEPS, 2) for step in range(5, 26)} | {chosen}):
            for half in (0, 1):
                problems, strangers = parts[0][half], parts[1][half]
                rows.append(
                    {
                        "threshold": value,
                        "configured": value == chosen,
                        "half": _HALVES[half],
                        "abstention": _share_below(strangers, value),
                        "false_abstention": _share_below(problems, value),
                        "strangers": len(strangers),
                        "problems": len(problems),
                    }
                )
        return rows

    async def _tool_rows(
        self, library: Library, problems: Sequence[Problem], strangers: Sequence[str], *, seed: int
    ) -> list[dict[str, Any]]:
        """How often each concept of a question has a tool among the first five, by half; and by chance."""
        serving = {concept: set(names) for concept, names in tools_of_concepts().items()}
        offered = len([tool for tool in library.tools() if not tool.missing()])
        served = []
        for problem in (problem for problem in problems if problem.concepts):
            found = {hit.item.name for hit in await library.search_tools(problem.text, _TOOLS)}
            wanted = [serving[concept] for concept in problem.concepts]
            served.append((all(found & one for one in wanted), not found, _by_chance(wanted, offered)))
        refused = [not await library.search_tools(text, _TOOLS) for text in strangers]
        parted = zip(_HALVES, halves(served, seed=seed), halves(refused, seed=seed), strict=True)
        parts = [*parted, ("both", served, refused)]
        return [_tool_rates(half, part, none) | {"tools": offered} for half, part, none in parts]

    def _summary(
        self,
        captain: Solver,
        rows: Sequence[Mapping[str, Any]],
        thresholds: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        whole = [row for row in rows if row["source"] == "all"]
        settings = captain.config.library
        return {
            "seed": captain.config.seed,
            "embedding": captain.config.embedding.provider,
            "settings": {
                name: getattr(settings, name) for name in ("threshold", "lexical_share", "domain_share", "spread")
            },
            "variants": [dict(row) for row in whole],
            "sources": [dict(row) for row in rows if row["variant"] == "configured" and row["source"] != "all"],
            "threshold": [dict(row) for row in thresholds if row["configured"]],
            "tools": [dict(row) for row in tools],
        }


def _rates(judged: Sequence[Sequence[bool]]) -> dict[str, Any]:
    n = len(judged)
    first, three = sum(flags[:1] == [True] for flags in judged), sum(any(flags) for flags in judged)
    ends = [[round(end, 4) for end in wilson_interval(right, n)] for right in (first, three)]
    return {
        "n": n,
        "domain@1": round(first / n, 4),
        "ci95@1": ends[0],
        "domain@3": round(three / n, 4),
        "ci95@3": ends[1],
    }


def _tool_rates(half: str, served: Sequence[tuple[bool, bool, float]], refused: Sequence[bool]) -> dict[str, Any]:
    """Rates over questions (all concepts served, nothing found, chance to serve them) and strangers (nothing found)."""
    n, right = len(served), sum(hit for hit, _, _ in served)
    return {
        "half": half,
        "questions": n,
        "recall@5": round(right / n, 4),
        "ci95": [round(end, 4) for end in wilson_interval(right, n)],
        "random five": round(sum(chance for _, _, chance in served) / n, 4),
        "false_abstention": round(sum(empty for _, empty, _ in served) / n, 4),
        "strangers": len(refused),
        "abstention": round(sum(refused) / len(refused), 4),
    }


def _nearest(hits: Found) -> float:
    return max((hit.similarity for hit in hits), default=-math.inf)


def _share_below(values: Sequence[float], threshold: float) -> float:
    return round(sum(value < threshold for value in values) / len(values), 4)


def _by_chance(wanted: Sequence[set[str]], offered: int) -> float:
    """The chance that five random tools hold one of each set, by inclusion and exclusion over the missed sets."""
    total = 0.0
    for mask in range(2 ** len(wanted)):
        missed = set[str]().union(*(one for n, one in enumerate(wanted) if mask >> n & 1))
        total += (-1) ** mask.bit_count() * math.comb(max(0, offered - len(missed)), _TOOLS)
    return total / math.comb(offered, _TOOLS)


def _write_csv(journal: Journal, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    import csv

    with (journal.folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
