"""Every error that the framework raises on purpose, sorted by who has to act.

CaptainError
├── ConfigError       the user: a setting, a file, a key or an input is wrong (exit code 2)
├── ModelError        the provider: an endpoint refused, timed out or answered nonsense
├── ToolError         the member that called a tool: the text goes back to the model
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
