"""What kind of answer a part of a task wants: a program, or a text in a form that the task shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from captain.briefing import Brief

_FIELD = re.compile(r"@(\w+)\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]")
_TEMPLATE = re.compile(r"@(\w+)\[")


@dataclass(frozen=True)
class Wanted:
    """The form of an answer, as far as the task fixes it.

    Attributes:
        entry_point: the function to be written; then a program is the answer.
        fields: the names of the `@name[value]` fields that the answer has to have.
    """

    entry_point: str | None = None
    fields: tuple[str, ...] = ()

    @classmethod
    def by(cls, brief: Brief, *, method: str, whole: bool) -> Wanted:
        """Reads it from a task; a part of a task (`whole` false) owes no field of the final answer."""
        if method == "code":
            return cls(entry_point=brief.entry_point)
        return cls(fields=tuple(dict.fromkeys(_TEMPLATE.findall(brief.task))) if whole else ())

    @property
    def is_program(self) -> bool:
        """Whether a program is the answer."""
        return self.entry_point is not None

    def hint(self) -> str:
        """A line that shows the form once more, ready to be filled in; empty where there is none."""
        if not self.fields:
            return ""
        items = ", ".join(f"@{name}[{{{name}}}]" for name in self.fields)
        return f'\n\nLast line of the program: print(f"FINAL ANSWER: {items}") with the values in the braces.'

    def lacking(self, answer: str) -> tuple[str, ...]:
        """The fields that an answer lacks; an empty one is there (an empty list is an answer)."""
        given = dict(_FIELD.findall(answer))
        return tuple(name for name in self.fields if name not in given)

    def shape(self, answer: str) -> str:
        """Brings an answer into the form where that takes no guess.

        A bare value where one field is asked for is put into it; a list in brackets of its own loses them, since the
        field's brackets already hold it.
        """
        if len(self.fields) == 1 and self.lacking(answer) and "@" not in answer and "\n" not in answer.strip():
            return f"@{self.fields[0]}[{answer.strip().strip('[]').strip()}]"
        if self.fields:
            return re.sub(r"@(\w+)\[\s*\[([^\[\]\n]*)\]\s*\]", r"@\1[\2]", answer)
        return answer

    def find(self, text: str) -> str | None:
        """The answer in a text that holds all fields, filled in, wherever they stand."""
        if not self.fields or self.lacking(text):
            return None
        values = dict(_FIELD.findall(text))
        return self.shape(", ".join(f"@{name}[{values[name].strip()}]" for name in self.fields))
