"""What members do to the outside: each tool call passes here, is approved where that is asked for, and is recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.tools import BaseTool

from captain.config import ApprovalConfig
from captain.durable.branches import current_branch
from captain.durable.effects import RecordedTool
from captain.durable.reading import on_record
from captain.durable.recording import Recording
from captain.durable.wrapped import WrappedTool
from captain.errors import CaptainError, Paused, ToolError
from captain.limits import Spending
from captain.members import Fault
from captain.reporting import Reporter
from captain.results import Record
from captain.tools import ToolSpec
from captain.tracing import span
from captain.tree import Tree
from captain.trust import as_data


class ApprovalRequest(Record):
    """Something that waits for a person."""

    what: Literal["tool", "subtask"]
    name: str
    """The tool, or the subtask's id."""
    arguments: dict[str, Any]
    """What the tool would be called with; for a subtask its goal."""
    reason: str


class Approval(Record):
    """A person's decision."""

    verdict: Literal["approve", "deny"]
    arguments: dict[str, Any] | None = None
    """Other arguments to use instead of those asked for."""
    note: str = ""
    """Said to the member, such as why it was denied."""


Approver = Callable[[ApprovalRequest], Awaitable[Approval]]


@dataclass
class Effects:
    """The one way by which members of a run reach tools.

    Args:
        config: What needs approval.
        workspace: The run's working folder.
        recording: The record of the run.
        spending: Halts a branch that waits for a person.
        reporter: Tells what waits.
        approver: Asks a person; without one the run pauses.
    """

    config: ApprovalConfig
    workspace: Path
    recording: Recording
    spending: Spending
    reporter: Reporter
    approver: Approver | None = None
    tainted: set[str] = field(default_factory=set)
    """Branches in whose chats untrusted text stands."""
    mixed: set[str] = field(default_factory=set)
    """Branches that may have read from the run's folder what came in by another one."""

    @classmethod
    def of(cls, tree: Tree, config: ApprovalConfig, reporter: Reporter) -> Effects:
        """The effects of one Captain in a tree."""
        approver, tainted, mixed = tree.approver, tree.tainted, tree.mixed
        return cls(config, tree.run.work, tree.recording, tree.spending, reporter, approver, tainted, mixed)

    def bind(self, spec: ToolSpec, *, fault: Fault) -> BaseTool[Any, Any]:
        """Makes a tool callable by a member of a team.

        Args:
            spec: The tool.
            fault: Where the reason is left when the team has to stop for a person.
        """
        repeatable = spec.needs.idempotent or not spec.needs.side_effects
        tool = RecordedTool(spec.bind(self.workspace), self.recording, repeatable=repeatable)
        return GuardedTool(tool, spec, self, fault)

    def reason(self, spec: ToolSpec) -> str:
        """Why a call of a tool needs a person; empty when it needs none."""
        if spec.name in self.config.allow_tools:
            return ""
        if spec.needs.approval or spec.name in self.config.tools:
            return "calls of this tool need approval"
        if not spec.needs.side_effects or not self.config.after_untrusted:
            return ""
        if self.is_tainted():
            return "the tool changes something outside, and untrusted text stands in the chat"
        if self._is_mixed():
            return "the tool changes something outside, and untrusted text may stand in files that the team has read"
        return ""

    def taint(self) -> None:
        """Notes that untrusted text has come into the chat of the running branch."""
        self.tainted.add(current_branch())

    def is_tainted(self, branch: str | None = None) -> bool:
        """Whether untrusted text stands in the chat of a branch (the running one when absent), or of one around it."""
        here = current_branch() if branch is None else branch
        return any(here == one or here.startswith(f"{one}/") or not one for one in self.tainted)

    def after_reading(self) -> None:
        """Notes that the running branch may have read files; all teams of a run share its folder.

        This asks for approvals and sets no marks: which team was first decides it, and a run that goes on must make
        the same prompts again.
        """
        if self.tainted:
            self.mixed.add(current_branch())

    def _is_mixed(self) -> bool:
        here = current_branch()
        return any(here == one or here.startswith(f"{one}/") or one.startswith(f"{here}/") for one in self.mixed)

    def taint_by(self, branch: str) -> None:
        """Notes that what comes next is made from the work on a branch, untrusted text included."""
        if self.is_tainted(branch) or any(one.startswith(f"{branch}/") for one in self.tainted):
            self.taint()

    def shown(self, text: str, source: str) -> str:
        """A text that was made in the running branch, or from its chat, as the next reader sees it.

        It stands between marks where untrusted text may have come into it.
        """
        return as_data(text, source) if text and self.is_tainted() else text

    async def approve(self, request: ApprovalRequest) -> Approval:
        """A person's decision, asked for once and then on record.

        Raises:
            Paused: Nobody is there to ask.
        """

        async def ask(_: str) -> dict[str, Any]:
            waits = f"{request.what} {request.name!r} waits for approval: {request.reason}"
            self.reporter.event("approval", waits, **request.model_dump(mode="json"))
            if self.approver is None:
                raise Paused(waits)
            return (await self.approver(request)).model_dump(mode="json")

        decision = await self.recording.step("decision", request.model_dump(mode="json"), ask)
        with on_record("decision"):
            return Approval.model_validate(decision)


class GuardedTool(WrappedTool):
    """A tool that waits for a person where that is asked for."""

    component_provider_override = "captain.effects.GuardedTool"

    def __init__(self, tool: BaseTool[Any, Any], spec: ToolSpec, effects: Effects, fault: Fault) -> None:
        super().__init__(tool)
        self._spec = spec
        self._effects = effects
        self._fault = fault

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """Calls the tool, after a person has agreed where that is asked for.

        Raises:
            ToolError: The call was denied, or the tool failed.
        """
        try:
            reason = self._effects.reason(self._spec)
            if reason:
                args = await self._approved(args, reason)
            with span("execute_tool", self.name, {"gen_ai.tool.name": self.name, "gen_ai.tool.call.id": call_id}):
                try:
                    return await self._tool.run_json(args, cancellation_token, call_id)
                finally:
                    if self._spec.needs.network or self._spec.needs.untrusted:
                        self._effects.taint()  # errors of such a tool are the other side's words too
                    self._effects.after_reading()
        except ToolError:
            raise
        except CaptainError as error:
            # AutoGen hands what a tool raises to the model; here the team itself has to stop.
            self._fault.error = error
            self._effects.spending.halt(current_branch(), error)
            raise ToolError(str(error)) from error

    async def _approved(self, args: Mapping[str, Any], reason: str) -> Mapping[str, Any]:
        request = ApprovalRequest(what="tool", name=self.name, arguments=dict(args), reason=reason)
        decision = await self._effects.approve(request)
        if decision.verdict == "deny":
            raise ToolError(f"a person denied this call{f': {decision.note}' if decision.note else ''}; do without it")
        return args if decision.arguments is None else decision.arguments
