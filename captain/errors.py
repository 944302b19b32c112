"""Every error that the framework raises on purpose, sorted by who has to act.

CaptainError
├── ConfigError       the user: a setting, a file, a key or an input is wrong (exit code 2)
├── ModelError        the provider: an endpoint refused, timed out or answered nonsense
├── ToolError         the member that called a tool: the text goes back to the model
├── NotRecorded       the user: a replay asks for something that its recording does not hold (exit code 2)
├── Paused            a person: something waits for a decision
└── LimitExceeded     nobody: a limit of the run was reached
"""

from __future__ import annotations


class CaptainError(Exception):
    """The root of the tree; catching it catches everything the framework raises on purpose."""


class ConfigError(CaptainError):
    """Something the user gave is wrong. The message is one line that names the value and the remedy."""


class ModelError(CaptainError):
    """A model endpoint failed for good, after the retries that its specification allows."""


class ToolError(CaptainError):
    """A tool could not do what it was asked; the message is shown to the model that called it."""


class LimitExceeded(CaptainError):
    """A limit of the run (calls, tokens, seconds, money, depth) was reached."""


class NotRecorded(CaptainError):
    """A replay came to a step that is not on record: code, settings or library differ from the recording."""


class Paused(CaptainError):
    """The run waits for a person's decision; it can be left and resumed."""
