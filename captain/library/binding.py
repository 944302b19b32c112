"""A tool as AutoGen calls it: bound to a workspace, off the event loop, with a time-out and readable results."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Mapping
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autogen_core import CancellationToken
from autogen_core.tools import BaseTool, ToolSchema
from pydantic import BaseModel, ConfigDict, Field, create_model

from captain.errors import ToolError
from captain.library.arguments import read_arguments
from captain.library.rendering import cap, cap_and_keep, render
from captain.tools import within

if TYPE_CHECKING:
    from captain.tools import ToolSpec

_LONGEST_ERROR = 1000


class BoundTool(BaseTool[BaseModel, Any]):
    """One tool in one workspace.

    AutoGen's own `FunctionTool` neither coerces arguments, nor bounds the time, nor leaves a hung thread behind at the
    exit of the interpreter; the rest of its contract is kept.
    """

    component_provider_override = "captain.library.binding.BoundTool"

    def __init__(self, spec: ToolSpec, *, workspace: Path, timeout: float, max_chars: int) -> None:
        self.spec = spec
        self._workspace = workspace
        self._timeout = timeout
        self._max_chars = max_chars
        super().__init__(_arguments_model(spec), object, spec.name, spec.description)

    @property
    def schema(self) -> ToolSchema:
        """The schema that models see, without the titles that only cost tokens."""
        schema = super().schema
        for described in schema["parameters"]["properties"].values():
            described.pop("title", None)
        return schema

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """Call the tool with a model's arguments.

        Raises:
            ToolError: Wrong arguments, an error inside the tool, or the time-out; the message is for the model.
        """
        if not isinstance(args, Mapping):
            raise ToolError(f"tool {self.name!r} takes a JSON object of named arguments, not {args!r}")
        return await super().run_json(read_arguments(self.spec.parameters, args), cancellation_token, call_id)

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """Call the function with checked arguments, within the workspace and the time-out."""
        arguments = {name: getattr(args, name) for name in args.model_fields_set}
        if inspect.iscoroutinefunction(self.spec.function):
            call: asyncio.Future[Any] = asyncio.ensure_future(self._run_async(arguments))
        else:
            call = self._run_in_thread(arguments)
        cancellation_token.link_future(call)
        try:
            return await asyncio.wait_for(call, self._timeout)
        except TimeoutError as error:
            raise ToolError(f"tool {self.name!r} gave no answer within {self._timeout:g} s and was given up") from error

    def return_value_as_string(self, value: Any) -> str:
        """The result as text for the chat, cut to the allowed length; the whole is then a file of the workspace."""
        return cap_and_keep(render(value), self._max_chars, folder=self._workspace, tool=self.name)

    async def _run_async(self, arguments: dict[str, Any]) -> Any:
        with within(self._workspace):
            try:
                return await self.spec.function(**arguments)
            except Exception as error:
                raise _for_model(error) from error

    def _run_in_thread(self, arguments: dict[str, Any]) -> asyncio.Future[Any]:
        """Start the function in a daemon thread: one that hangs must not keep the interpreter alive."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def work() -> None:
            result, failure = None, None
            try:
                with within(self._workspace):
                    result = self.spec.function(**arguments)
            except BaseException as error:  # also SystemExit: a tool must not end the process
                failure = _for_model(error)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, failure)

        context = copy_context()  # what the caller set, such as the key of the call, holds in the thread too
        threading.Thread(target=context.run, args=(work,), name=f"tool-{self.name}", daemon=True).start()
        return future


def _for_model(error: BaseException) -> ToolError:
    text = str(error) if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
    return ToolError(cap(text, _LONGEST_ERROR))


def _arguments_model(spec: ToolSpec) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter in spec.parameters:
        default = ... if parameter.required else parameter.default
        fields[parameter.name] = (parameter.annotation, Field(default, description=parameter.description))
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())
    model: type[BaseModel] = create_model(f"{spec.name}_arguments", __config__=config, **fields)
    return model
