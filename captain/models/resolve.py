"""From a specification to one that can work here: what `auto` takes, which key is used, what it costs."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from captain.config import ModelSpec
from captain.errors import ConfigError
from captain.models.failures import public_address

_READ_BY_PRESETS = ("CAPTAIN_BASE_URL", "CAPTAIN_MODEL", "CAPTAIN_API_KEY")
OPENAI_ADDRESS = "https://api.openai.com/v1"


def resolve(spec: ModelSpec) -> tuple[ModelSpec, str | None]:
    """Replaces the provider `auto` by the first that can work and checks the settings.

    Returns:
        The specification to use, and for `auto` a line that says which model was taken, why and what it costs.

    Raises:
        ConfigError: A key, an address or a name is missing or wrong.
    """
    if spec.provider != "auto":
        _check(spec)
        return spec, None
    name, reason = _first_that_can_work(spec)
    chosen = _preset(name, tuple(os.environ.get(variable) for variable in _READ_BY_PRESETS))
    given = {field: getattr(spec, field) for field in spec.model_fields_set - {"name", "provider"}}
    chosen = ModelSpec.model_validate({**chosen.model_dump(), **given})
    _check(chosen)
    return chosen, f"model auto: {reason}, so {describe(chosen)}"


def _first_that_can_work(spec: ModelSpec) -> tuple[str, str]:
    if spec.base_url:
        return "compatible", "an address is configured"
    if os.environ.get("OPENAI_API_KEY"):
        return "openai", "OPENAI_API_KEY is set"
    if os.environ.get("CAPTAIN_BASE_URL"):
        return "compatible", "CAPTAIN_BASE_URL is set"
    return "embedded", "no key and no endpoint is configured"


@lru_cache(maxsize=32)
def _preset(name: str, environment: tuple[str | None, ...]) -> ModelSpec:
    """Reads a model that ships with the project (`configs/model/NAME.yaml`).

    `environment` holds the values that such a file may read; with another environment it is read again.
    """
    from importlib.resources import files

    from omegaconf import OmegaConf

    text = (files("captain_configs") / "model" / f"{name}.yaml").read_text(encoding="utf-8")
    data: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=True)
    return ModelSpec.model_validate(data)


def describe(spec: ModelSpec) -> str:
    """Says in a few words which model this is, where it runs and what it costs."""
    if spec.provider == "embedded":
        return f"the embedded model {spec.weights!r}, in this process, free"
    if spec.provider == "scripted":
        return f"the scripted model {spec.name!r}, free"
    if spec.price is None:
        price = "price unknown"
    else:
        price = f"${spec.price.prompt:g} / ${spec.price.completion:g} per million prompt / completion tokens"
    return f"{spec.model!r} at {public_address(address_of(spec))}, {price}"


def address_of(spec: ModelSpec) -> str:
    """Gives the base URL of an HTTP provider."""
    if spec.provider == "openai":
        return spec.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_ADDRESS
    return spec.base_url or ""


def key_of(spec: ModelSpec) -> str:
    """Reads the key from the environment; endpoints that need none get a word that is no key."""
    return (os.environ.get(spec.api_key_env, "").strip() if spec.api_key_env else "") or "none"


def _check(spec: ModelSpec) -> None:
    if spec.provider == "openai" and key_of(spec) == "none":
        variable = spec.api_key_env or "OPENAI_API_KEY"
        raise ConfigError(
            f"model {spec.name!r} needs a key: set the environment variable {variable}, "
            "or use model=embedded, which needs none"
        )
    if spec.provider == "embedded" and not spec.weights:
        raise ConfigError(f"model {spec.name!r} is embedded but names no `weights`; see `captain models list`")
    if spec.provider in ("openai", "compatible"):
        _check_address(spec)
        if not re.fullmatch("[!-~]+", key_of(spec)):
            raise ConfigError(
                f"the key in the environment variable {spec.api_key_env} is damaged: it is not plain ASCII"
            )


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_address(spec: ModelSpec) -> None:
    address = address_of(spec)
    if not address:
        raise ConfigError(
            f"model {spec.name!r} has no address: set CAPTAIN_BASE_URL or `model.base_url`, "
            "such as http://127.0.0.1:8000/v1"
        )
    if not address.startswith(("http://", "https://")):
        raise ConfigError(
            f"model {spec.name!r}: base_url {public_address(address)!r} must start with http:// or https://"
        )
    if not re.fullmatch(r"https?://[^\s@]+", address) or not _has_host(address):
        raise ConfigError(
            f"model {spec.name!r}: base_url must be http(s)://HOST:PORT/PATH without user, password and blanks; "
            "a key is named by `api_key_env`"
        )
    if not spec.model:
        raise ConfigError(f"model {spec.name!r} names no model: set CAPTAIN_MODEL or `model.model`")
