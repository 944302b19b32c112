"""Reads data out of what models write: JSON, tool calls, code blocks, final answers.

Nothing here calls a model, raises on odd text (but `read_json`, when there is no JSON) or takes more than linear time.
"""

from __future__ import annotations

from captain.decide.fences import read_code_blocks, read_final_answer
from captain.decide.json_text import read_json
from captain.decide.reasoning import strip_reasoning
from captain.decide.tool_calls import read_tool_calls

__all__ = ["read_code_blocks", "read_final_answer", "read_json", "read_tool_calls", "strip_reasoning"]
