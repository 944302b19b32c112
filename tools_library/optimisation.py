"""Operations research: linear and integer programs, minima, assignments, shortest paths."""

from __future__ import annotations

import heapq
import json
import math
import re

from captain.errors import ToolError
from captain.tools import tool
from tools_library import calculator
from tools_library.tables import one_of, rounded

MAX_EDGES = 5000


@tool
def linear_program(
    objective: str, constraints: list[str], goal: str = "maximize", integers: str = "", free: str = ""
) -> str:
    """Linear programming and mixed-integer optimisation (LP, MILP; operations research): maximise profit or minimise
    cost under linear constraints, such as production, blending, transport, knapsack.

    Args:
        objective: The linear function, for example "3x + 2y".
        constraints: For example ["x + y <= 4", "x + 3y <= 6", "x <= 3"], with <=, >= or =.
        goal: "maximize" or "minimize".
        integers: Names of the variables that must be whole, separated by commas, or "all"; for 0/1 add "x <= 1".
        free: Names of the variables that may be negative; all others are 0 or more.

    Returns:
        The optimum, the value of each variable, and for each constraint whether it is binding or its slack; or that
        there is no optimum (infeasible or unbounded).

    Raises:
        ToolError: An expression cannot be read or is not linear, or it takes too long.
    """
    goal = one_of(goal.strip().lower().replace("ise", "ize"), ("maximize", "minimize"), "goal")
    arguments = {"objective": objective, "constraints": json.dumps(constraints), "goal": goal}
    return calculator.compute("linear_program", {**arguments, "integers": integers, "free": free})


@tool
def find_minimum(expression: str, bounds: list[str], goal: str = "minimize") -> str:
    """Numerical optimisation: the global minimum or maximum of a function of one or more variables within bounds, also
    of one that is not linear or not smooth.

    Args:
        expression: For example "(x - 1)^2 + abs(y) + sin(3x)".
        bounds: A range for each variable, for example ["x: -5 to 5", "y: 0 to 10"].
        goal: "minimize" or "maximize".

    Returns:
        The least or greatest value found and where it is, to about eight digits; found by a search, not proved.

    Raises:
        ToolError: The text is not an expression, a variable has no bounds, or it takes too long.
    """
    goal = one_of(goal.strip().lower().replace("ise", "ize"), ("minimize", "maximize"), "goal")
    if not 1 <= len(bounds) <= 10:
        raise ToolError(f"bounds must hold ranges for 1 to 10 variables, not {len(bounds)}")
    return calculator.compute("minimum", {"expression": expression, "bounds": json.dumps(bounds), "goal": goal})


@tool
def assign_tasks(costs: str, goal: str = "minimize") -> dict[str, object]:
    """Assignment problem (Hungarian method): match workers to tasks, machines to jobs or drivers to routes one to one,
    at the lowest total cost or the highest total profit.

    Args:
        costs: One worker a row, rows separated by semicolons, costs by spaces or commas: "4 1 3; 2 0 5; 3 2 2".
        goal: "minimize" (costs) or "maximize" (profits).

    Returns:
        total, assignment (worker and task, both counted from 1, with the cost). With more of one kind some stay free.

    Raises:
        ToolError: A cost is no number, rows differ in length, or there are more than 500 rows or columns.
    """
    from scipy.optimize import linear_sum_assignment

    goal = one_of(goal.strip().lower().replace("ise", "ize"), ("minimize", "maximize"), "goal")
    parts = re.split(r"[;\n]|\]\s*,?\s*\[", costs.strip(" []\n;"))
    try:
        rows = [[float(cell) for cell in re.split(r"[\s,]+", part.strip(" ,[]"))] for part in parts]
    except ValueError as error:
        raise ToolError(f"the costs must be numbers: {error}") from error
    if len({len(row) for row in rows}) > 1 or max(len(rows), len(rows[0])) > 500:
        raise ToolError(
            f"the rows have {sorted({len(row) for row in rows})} costs; they must have as many, 500 at most"
        )
    if not all(math.isfinite(cost) for row in rows for cost in row):
        raise ToolError("every cost must be a finite number; write a large one for what is not allowed")
    workers, tasks = linear_sum_assignment(rows, maximize=goal == "maximize")
    pairs = list(zip(workers.tolist(), tasks.tolist(), strict=True))
    return {
        "total": rounded(sum(rows[worker][task] for worker, task in pairs)),
        "assignment": [{"worker": w + 1, "task": t + 1, "cost": rounded(rows[w][t])} for w, t in pairs],
    }


@tool
def shortest_path(edges: list[str], start: str, goal: str, directed: bool = False) -> dict[str, object]:
    """Shortest path in a network or graph with weighted edges (Dijkstra): the cheapest route between two places.

    Args:
        edges: For example ["A B 4", "B C 2.5"]: two places and the length between them; names have no spaces.
        start: Where the path begins.
        goal: Where it ends.
        directed: true when an edge leads only from its first to its second place.

    Returns:
        length, path (the places in order), or reachable: false.

    Raises:
        ToolError: An edge cannot be read, a length is negative, or a place is in no edge.
    """
    links: dict[str, list[tuple[float, str]]] = {}
    for origin, end, length in map(_edge, edges[:MAX_EDGES]):
        links.setdefault(origin, []).append((length, end))
        links.setdefault(end, []).extend([] if directed else [(length, origin)])
    if stray := [place for place in (start, goal) if place not in links]:
        raise ToolError(f"{stray[0]!r} is in no edge; the places are {', '.join(sorted(links)[:40])}")
    queue: list[tuple[float, list[str]]] = [(0.0, [start])]
    settled: set[str] = set()
    while queue:
        length, path = heapq.heappop(queue)
        if path[-1] == goal:
            return {"length": rounded(length), "path": path}
        if path[-1] in settled:
            continue
        settled.add(path[-1])
        for step, place in links[path[-1]]:
            if place not in settled:
                heapq.heappush(queue, (length + step, [*path, place]))
    return {"reachable": False}


def _edge(text: str) -> tuple[str, str, float]:
    parts = [part for part in re.split(r"\s*(?:->|[\s,;:])\s*", text.strip()) if part]
    try:
        origin, end, length = parts[0], parts[1], float(parts[2])
    except (IndexError, ValueError):
        raise ToolError(f"cannot read the edge {text!r}; write it like 'A B 4'") from None
    if len(parts) > 3 or not 0 <= length < math.inf:
        raise ToolError(f"the edge {text!r} must be two names and a length that is not negative")
    return origin, end, length
