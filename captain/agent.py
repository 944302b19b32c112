"""The Captain as an AutoGen agent: a whole solve as one turn of a member."""

from __future__ import annotations

from collections.abc import Sequence

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken

from captain.captain import Captain
from captain.errors import LimitExceeded, ModelError, Paused


class CaptainAgent(BaseChatAgent):
    """Solves what the conversation so far asks for and answers with the result.

    All earlier messages belong to the task, so a second question may lean on the first. Inside another Captain's
    team it writes into the same run and spends from the same limits.
    """

    def __init__(self, name: str, captain: Captain, description: str) -> None:
        super().__init__(name, description)
        self._captain = captain
        self._heard: list[BaseChatMessage] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Always plain text."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Takes the turn."""
        self._heard.extend(messages)
        task = "\n\n".join(message.to_text() for message in self._heard)
        try:
            result = await self._captain.solve_async(task)
            if result.status == "paused":
                raise Paused(result.stop_reason)  # what waits for a person stops the outer team too
            text = f"{result.answer}\n\nFINAL ANSWER: {result.answer}" if result.answer else result.stop_reason
            status: str = result.status
        except LimitExceeded as error:
            text, status = str(error), "stopped"
        except ModelError as error:
            text, status = f"I could not work on this: {error}", "failed"
        reply = TextMessage(content=text, source=self.name, metadata={"status": status})
        self._heard.append(reply)
        return Response(chat_message=reply)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forgets the conversation."""
        self._heard.clear()
