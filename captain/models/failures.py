"""What went wrong at an endpoint, in one line with a remedy, and whether sending the request again can help."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from captain.config import ModelSpec
from captain.errors import ModelError
from captain.models.bodies import BodyRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_PAUSE = 120.0
"""Seconds an endpoint may ask us to wait; with more the call fails at once and says so."""
CONNECTION_RETRIES = 2
"""A connection that cannot be made is tried again only this often, so that a wrong address is told quickly."""

_BAD_ADDRESS = frozenset({"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "InvalidUrlClientError"})
_UNREACHABLE = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionTimeoutError"})
_DISCONNECTED = frozenset(
    {"ServerDisconnectedError", "ClientOSError", "RemoteProtocolError", "ReadError", "WriteError"}
)
_TRANSPORTS = frozenset({"aiohttp", "httpx", "httpx2", "httpcore"})
_TRANSIENT = frozenset({408, 409, 425, 429})
_NEVER_TRANSIENT = frozenset({501, 505})
_ROLES = re.compile(r"roles must alternate|alternate user/assistant|system role (is )?not supported", re.IGNORECASE)
_TEMPLATE = re.compile(r"jinja|chat template", re.IGNORECASE)
_TOO_LONG = re.compile(r"context.{0,30}(length|size|window)|too many tokens|maximum context|prompt is too long", re.I)


class EndpointError(ModelError):
    """A request that failed, with what the retry policy needs to know.

    Attributes:
        transient: Sending it again may help.
        wait: Seconds the endpoint asked to wait, or None.
        retries: The most retries that make sense for this failure, or None for the setting of the specification.
        strict_roles: The endpoint's chat template refused the order of roles.
        answered: The endpoint sent an answer, if only a refusal.
        unreachable: No connection could be made.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        wait: float | None = None,
        retries: int | None = None,
        strict_roles: bool = False,
        answered: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.transient = transient
        self.wait = wait
        self.retries = retries
        self.strict_roles = strict_roles
        self.answered = answered
        self.unreachable = unreachable


class RecordedFailure(ModelError):
    """A failure that an earlier process of the run met."""

    def __init__(self, message: str, status_code: int | None) -> None:
        super().__init__(message)
        self.status_code = status_code


def status_of(error: BaseException) -> int | None:
    """The HTTP status in an error or in what caused it."""
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return None
        status = getattr(link, "status_code", None)
        if isinstance(status, int):
            return status
        link = link.__cause__
    return None


def public_address(address: str) -> str:
    """Gives an address without user name, password and query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "(no address)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def read_failure(error: Exception, spec: ModelSpec, *, address: str, key: str = "") -> EndpointError | None:
    """Turns an exception of the transport into ours; None for any other, which is a mistake in a program.

    Args:
        error: What was raised.
        spec: The model that was asked.
        address: The endpoint's address.
        key: The key in use, to be blotted out should the endpoint repeat it.
    """
    import openai

    if isinstance(error, EndpointError):
        return error
    place = f"model {spec.model or spec.name!r} at {public_address(address)}"
    if isinstance(error, openai.APIStatusError):
        return _status_failure(error, spec, place=place, key=key)
    if isinstance(error, openai.APIConnectionError):
        return _connection_failure(error, spec, place)
    if isinstance(error, TimeoutError):
        return _timed_out(spec, place)
    if isinstance(error, BodyRefused):
        return EndpointError(f"{place}: {error}; check `base_url` and the server", answered=True)
    if isinstance(error, openai.OpenAIError):
        return EndpointError(f"{place}: {line(str(error) or type(error).__name__, key)}")
    if type(error).__module__.partition(".")[0] in _TRANSPORTS:
        return _connection_failure(error, spec, place)
    return None


def _timed_out(spec: ModelSpec, place: str) -> EndpointError:
    return EndpointError(
        f"{place}: no answer within {spec.timeout:g} s (setting `timeout` of the model)", transient=True
    )


def _connection_failure(error: Exception, spec: ModelSpec, place: str) -> EndpointError:
    kinds, detail = _causes(error)
    if not kinds.isdisjoint(_BAD_ADDRESS) or "certificate" in detail.lower():
        return EndpointError(f"{place}: {detail}; check `base_url`")
    if not kinds.isdisjoint(_DISCONNECTED):
        return EndpointError(f"{place}: the connection broke ({detail})", transient=True)
    if not kinds.isdisjoint(_UNREACHABLE):
        message = f"{place} cannot be reached ({detail}); is the server running and `base_url` right?"
        return EndpointError(message, transient=True, retries=CONNECTION_RETRIES, unreachable=True)
    if any("Timeout" in kind for kind in kinds):
        return _timed_out(spec, place)
    return EndpointError(f"{place}: the connection broke ({detail})", transient=True)


def _causes(error: BaseException) -> tuple[set[str], str]:
    """Names the classes behind an error of the SDK (two HTTP libraries have their own) and the innermost text."""
    kinds: set[str] = set()
    detail = ""
    cause = error.__cause__
    while cause is not None:
        kinds.add(type(cause).__name__)
        detail = line(str(cause), "") or detail
        cause = cause.__cause__
    return kinds, detail or line(str(error), "")


def _status_failure(error: Any, spec: ModelSpec, *, place: str, key: str) -> EndpointError:
    status: int = error.status_code
    detail = line(detail_of(error.body) or error.message, key)
    if 300 <= status < 400:
        return _redirected(error, place)
    refused = _permanent(status, detail, spec, place)
    if refused is not None:
        return refused
    if status in _TRANSIENT or (status >= 500 and status not in _NEVER_TRANSIENT):
        return _passing(error, status, place=place, detail=detail)
    return EndpointError(f"{place}: HTTP {status}: {detail}", answered=True)


def _passing(error: Any, status: int, *, place: str, detail: str) -> EndpointError:
    wait = retry_after(error.response.headers)
    if wait is not None and wait > LONGEST_PAUSE:
        asked = f"it asks to wait {wait:.0f} s, longer than the {LONGEST_PAUSE:.0f} s that a call may wait"
        return EndpointError(f"{place}: HTTP {status}: {asked}: {detail}; try later", answered=True)
    transient = error.response.headers.get("x-should-retry") != "false"
    return EndpointError(f"{place}: HTTP {status}: {detail}", transient=transient, wait=wait, answered=True)


def _redirected(error: Any, place: str) -> EndpointError:
    """Redirects are not followed: neither the key nor the prompt goes anywhere that the user did not name."""
    target = public_address(error.response.headers.get("location", "") or "no address")
    message = f"{place}: HTTP {error.status_code}: it redirects to {line(target, '')}, which is not followed"
    return EndpointError(f"{message}; set `base_url` to the API's own address", answered=True)


def _permanent(status: int, detail: str, spec: ModelSpec, place: str) -> EndpointError | None:
    remedy = ""
    strict_roles = status in (400, 422, 500) and bool(_ROLES.search(detail))
    if status in (401, 403):
        key = spec.api_key_env
        remedy = f"check the key in the environment variable {key}" if key else "it wants a key; name its `api_key_env`"
        detail = "not authorised"
    elif status == 404:
        remedy = "check the model's name (`model.model`) and that `base_url` ends where the API begins, often in /v1"
    elif strict_roles:
        remedy = "its chat template refuses the order of roles, and folding the messages did not help"
    elif status == 413 or (status == 400 and _TOO_LONG.search(detail)):
        remedy = "the prompt is longer than the model's context window; use a model with a larger one"
    elif status == 500 and _TEMPLATE.search(detail):
        remedy = "its chat template refuses these messages"
    elif status == 429 and "insufficient_quota" in detail:
        remedy = "the account has no credit left"
    else:
        return None
    return EndpointError(f"{place}: HTTP {status}: {detail}; {remedy}", strict_roles=strict_roles, answered=True)


def detail_of(body: Any) -> str:
    """What an endpoint's error says, whatever form it has; empty where it says nothing."""
    if isinstance(body, dict):
        parts = [body.get("code"), body.get("message") or body.get("error") or body.get("detail")]
        text = ": ".join(str(part)[:2000] for part in parts if part and not isinstance(part, int))
        if text:
            return text
    return str(body)[:2000] if body else ""


def line(text: str, key: str) -> str:
    """Brings what an endpoint says into one line of bounded length, without the key."""
    line = " ".join(text.split())
    if len(key) > 3:
        line = line.replace(key, "***")
    return line if len(line) <= 300 else line[:297] + "..."


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Reads how many seconds an endpoint asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    milliseconds = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        if value is None:
            return None
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value or "")


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
