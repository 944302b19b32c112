"""Searching the web and reading its pages, on a site of this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from captain.errors import ToolError
from captain.tools import spec_of
from tools_library import web

_PAGE = """<!doctype html><html><head><title>Opening hours</title><style>p {}</style></head><body>
<h2>Pool</h2><p>Open from <b>9</b> to 17. <a href="prices.html?x=1">Prices</a>, <a href="https://x.org/">other</a>,
<a href="javascript:alert(1)">no</a></p>
<table><tr><th>day</th><th>closes</th></tr><tr><td>Sunday</td><td>15</td></tr></table>
<script>alert("never shown")</script></body></html>"""


@pytest.fixture
def searching(site: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BRAVE_API_KEY", "test-key")
    monkeypatch.setenv("CAPTAIN_SEARCH_URL", f"{site.address}/search")
    return site


def test_a_page_becomes_markdown_with_its_address_and_whole_links(site: Any) -> None:
    address = site.has("/town/pool", _PAGE, kind="text/html; charset=utf-8")
    text = web.fetch_page(address)
    assert text.startswith(f"Source: {address}\n\n# Opening hours\n\n## Pool\n\nOpen from **9** to 17.")
    assert f"[Prices]({site.address}/town/prices.html?x=1)" in text and "[other](https://x.org/)" in text
    assert "| Sunday | 15 |" in text
    assert "never shown" not in text and "javascript" not in text


def test_the_address_is_the_one_after_redirects(site: Any) -> None:
    site.has("/b/new", '<base href="/c/"><a href="d">it</a>', kind="text/html")
    site.has("/old", status=301, Location="/b/new")
    assert web.fetch_page(f"{site.address}/old") == f"Source: {site.address}/b/new\n\n[it]({site.address}/c/d)"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=iso-8859-1", "<p>Größe</p>".encode("latin-1")),
        ("text/html", '<meta charset="iso-8859-1"><p>Größe</p>'.encode("latin-1")),
        ("text/html", "<p>Größe</p>".encode()),
        ("text/plain; charset=utf-16", "Größe".encode("utf-16")),
        ("text/markdown", "Größe".encode()),
        ("", "Größe".encode()),
    ],
)
def test_character_sets(site: Any, kind: str, body: bytes) -> None:
    address = site.has("/a", body, kind=kind)
    assert web.fetch_page(address) == f"Source: {address}\n\nGröße"


def test_documents_and_data_of_the_web(site: Any) -> None:
    import io

    from openpyxl import Workbook

    book, content = Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.append(["town"])
    book.active.append(["Graz"])
    book.save(content)
    for kind in ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/octet-stream"):
        assert "| Graz |" in web.fetch_page(site.has("/t.xlsx", content.getvalue(), kind=kind))
    assert web.fetch_page(site.has("/t.json", '{"a": 1}', kind="application/json")).endswith('\n{"a": 1}')
    assert web.fetch_page(site.has("/code.html", "<p>x", kind="text/plain")).endswith("\n<p>x")
    with pytest.raises(ToolError, match="'image/png', which cannot be read"):
        web.fetch_page(site.has("/i.png", b"\x89PNG", kind="image/png"))
    with pytest.raises(ToolError, match="cannot be read as PDF"):
        web.fetch_page(site.has("/broken.pdf", b"no", kind="application/pdf"))


def test_a_file_is_downloaded_unchanged(site: Any, private_site: Any, workspace: Any) -> None:
    address = site.has("/t.bin", b"\0\1\2", kind="application/octet-stream")
    site.has("/old", status=302, Location="/t.bin")
    told = web.download_file(f"{site.address}/old", "in/t.bin")
    assert told == f"Source: {address}\n3 bytes of application/octet-stream saved as in/t.bin"
    assert (workspace / "in" / "t.bin").read_bytes() == b"\0\1\2"
    asked = len(site.asked)
    for path, problem in [("in/t.bin", "is there already"), ("in", "is there already"), ("../x", "outside")]:
        with pytest.raises(ToolError, match=problem):
            web.download_file(address, path)
    assert len(site.asked) == asked
    with pytest.raises(ToolError, match="cannot write"):
        web.download_file(address, "in/t.bin/x")
    with pytest.raises(ToolError, match="private network"):
        web.download_file(private_site.has("/", "secret"), "secret")
    assert not (workspace / "secret").exists()


def test_other_services_of_the_same_kind(searching: Any) -> None:
    results = [{"title": "A", "url": "https://a.org/", "content": "Of a."}, {"url": "https://b.org/", "snippet": "B."}]
    searching.has("/search", json.dumps({"results": results}))
    assert web.web_search("x").splitlines()[1:3] == ["   https://a.org/", "   Of a."]
    assert web.web_search("x").splitlines()[5] == "   B."


def test_a_long_page_is_read_in_parts(site: Any) -> None:
    address = site.has("/long", "x" * 13_000, kind="text/plain")
    assert web.fetch_page(address).endswith("[1,000 more characters; read on with start=12000]")
    assert web.fetch_page(address, 12_000) == f"Source: {address}\n\n{'x' * 1000}"
    assert web.fetch_page(site.has("/empty", "", kind="text/html")).endswith("(the page holds no text)")


def test_a_private_page_is_refused(private_site: Any) -> None:
    with pytest.raises(ToolError, match="private network"):
        web.fetch_page(private_site.has("/", "secret"))


def test_results_of_a_search_have_titles_addresses_and_descriptions(searching: Any) -> None:
    results = [
        {
            "title": "The <strong>Pool</strong> &amp; more",
            "url": "https://pool.example/",
            "description": "Open <strong>daily</strong>.\nHeated.",
        },
        {"title": "No address"},
        {"title": None, "url": "https://b.example/?q=1", "description": None},
    ]
    searching.has("/search", json.dumps({"type": "search", "web": {"type": "search", "results": results}}))
    assert web.web_search("pool hours", 40).splitlines() == [
        "1. The Pool & more",
        "   https://pool.example/",
        "   Open daily. Heated.",
        "2. ",
        "   https://b.example/?q=1",
        "   ",
    ]
    _, query, headers = searching.asked[0]
    assert query == {"q": "pool hours", "count": "20"} and headers["x-subscription-token"] == "test-key"


@pytest.mark.parametrize("answer", [{"type": "search"}, {"web": {"results": []}}, {"web": None}, {"results": []}])
def test_nothing_was_found(searching: Any, answer: dict[str, Any]) -> None:
    searching.has("/search", json.dumps(answer))
    assert web.web_search("xyzzy") == "nothing was found for 'xyzzy'"


@pytest.mark.parametrize(
    "answer", ["<html>", "[]", '{"web": {"results": 3}}', '{"web": {"results": null}}', '{"web": 1}']
)
def test_nonsense_from_the_search_service(searching: Any, answer: str) -> None:
    searching.has("/search", answer)
    with pytest.raises(ToolError, match="cannot be read"):
        web.web_search("pool")


def test_a_refused_key_is_not_told(searching: Any) -> None:
    searching.has("/search", status=401)
    with pytest.raises(ToolError, match="answers 401") as failure:
        web.web_search("pool")
    assert "test-key" not in str(failure.value)
    with pytest.raises(ToolError, match="the query is empty"):
        web.web_search(" ")


def test_without_a_key_there_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    from captain import CaptainConfig
    from captain.cli.checks import check_tools

    search, needed = spec_of(web.web_search), "environment variable 'BRAVE_API_KEY' is not set"
    model = {"name": "test", "provider": "scripted", "script": ["x"]}
    config = CaptainConfig.model_validate({"model": model, "tools": {"modules": ["tools_library.web"]}})
    assert search.missing() == [needed] and spec_of(web.fetch_page).missing() == []
    (lacking,) = [check for check in check_tools(config) if check.state == "warning"]
    assert (lacking.detail, lacking.remedy) == (f"web_search cannot work: {needed}", "export BRAVE_API_KEY=...")
    monkeypatch.setenv("BRAVE_API_KEY", "k")
    assert search.missing() == [] and search.needs.network
    assert [check.state for check in check_tools(config)] == ["ok"]
