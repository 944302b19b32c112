"""The parameters of experts that a function of the project makes: their types, and how values are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, field_validator
from pydantic_core.core_schema import ValidationInfo

from captain.errors import ConfigError, ToolError
from captain.library.arguments import read_value
from captain.library.spelling import did_you_mean
from captain.tools import Parameter

Scalar = str | int | float | bool
_TYPES: dict[str, type[Scalar]] = {"string": str, "integer": int, "number": float, "boolean": bool}
_LISTED = 30


class FactoryParameter(BaseModel):
    """One parameter of a factory: filled from the task, unless `library.bindings` gives it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["string", "integer", "number", "boolean"]
    description: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    enum: tuple[Scalar, ...] = ()
    """The values that are allowed; all when absent."""
    default: Scalar | None = None
    """Taken when the task says nothing; a parameter with a default is never required."""
    required: bool = True
    """False: left out of the call when the task says nothing and there is no default."""

    @field_validator("enum", "default")
    @classmethod
    def _of_the_type(cls, given: Any, info: ValidationInfo) -> Any:
        wanted = info.data.get("type")
        values = () if given is None else given if isinstance(given, tuple) else (given,)
        for value in values:
            if wanted is not None and not _is(value, wanted):
                raise ValueError(f"{value!r} is no {wanted}")
        allowed = info.data.get("enum") or ()
        if info.field_name == "default" and given is not None and allowed and given not in allowed:
            raise ValueError(f"the default {given!r} is not among the values of enum")
        return given

    @property
    def needed(self) -> bool:
        """Whether the expert cannot be made without a value."""
        return self.required and self.default is None

    def explained(self) -> str:
        """The description with the allowed values, for a model."""
        options = ", ".join(repr(value) for value in self.enum[:_LISTED]) + (" ..." if self.enum[_LISTED:] else "")
        return f"{self.description} (one of {options})" if self.enum else self.description

    def read(self, name: str, value: Any) -> Scalar:
        """A value in the parameter's type: `"3"` is 3 where a number is wanted.

        Raises:
            ValueError: It is not of the type or not allowed; the message names the parameter.
        """
        if isinstance(value, bool) and self.type in ("integer", "number"):
            raise ValueError(f"parameter {name!r} must be {self.type}, not {value!r}")
        try:
            found: Scalar = read_value(Parameter(name, self._annotation(), self.description), value)
        except ToolError as error:
            raise ValueError(str(error).replace("argument", "parameter", 1)) from error
        return found

    def _annotation(self) -> Any:
        return Literal[self.enum] if self.enum else _TYPES[self.type]


def _is(value: Scalar, wanted: str) -> bool:
    if wanted == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is _TYPES[wanted]


def check_parameter_names(parameters: Mapping[str, FactoryParameter]) -> None:
    """Refuses names that a Python function cannot take beside its `context`.

    Raises:
        ValueError: The name is said.
    """
    for name in parameters:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name) or name == "context":
            raise ValueError(f"{name!r} cannot be the name of a parameter")


def bound_values(expert: str, parameters: Mapping[str, FactoryParameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that `library.bindings` gives to an expert.

    Raises:
        ConfigError: A parameter is unknown, or a value is not of its type.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        place = f"library.bindings.{expert}.{name}"
        if name not in parameters:
            raise ConfigError(f"{place}: the expert has no parameter {name!r}{did_you_mean(name, parameters)}")
        try:
            values[name] = parameters[name].read(name, value)
        except ValueError as error:
            raise ConfigError(f"{place}: {error}") from error
    return values
