"""Requests that a model asked for: only public places, bounded in size and time."""

from __future__ import annotations

import gzip
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from captain.errors import ToolError
from tools_library import addresses
from tools_library.addresses import get


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries again at once."""
    monkeypatch.setattr("tenacity.wait_exponential", lambda **_: lambda state: 0.0)


def test_a_page_comes_with_its_address_kind_and_text(site: Any) -> None:
    address = site.has("/a", "Größe".encode("latin-1"), kind="Text/HTML; charset=ISO-8859-1")
    page = get(f" {address}?x=1 ", query={"y": "2 3"}, headers={"X-Key": "secret"})
    assert (page.address, page.kind, page.text()) == (f"{address}?x=1&y=2+3", "text/html", "Größe")
    path, query, headers = site.asked[0]
    assert (path, query) == ("/a", {"x": "1", "y": "2 3"})
    assert headers["x-key"] == "secret" and headers["user-agent"].startswith("captain-agents")


def test_an_unknown_character_set_is_not_believed(site: Any) -> None:
    page = get(site.has("/", "Größe", kind="text/html; charset=martian"))
    assert page.encoding is None and page.text() == "Größe"


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://127.8.9.1/",
        "http://localhost/",
        "http://LOCALHOST/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://user:password@127.0.0.1/",
        "http://127.0.0.1:9/#@example.org/",
    ],
)
def test_private_addresses_are_refused(
    address: str, private_site: Any, monkeypatch: pytest.MonkeyPatch, known_names: None
) -> None:
    with pytest.raises(ToolError, match="private network"):
        get(address)


@pytest.fixture
def known_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks addresses up as this machine does, which needs no network for numbers."""
    import socket

    look_up = socket._socket.getaddrinfo  # type: ignore[attr-defined]  # what the tests' own guard hides

    def own(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
        numeric = 0 if str(host).rstrip(".").lower() == "localhost" else socket.AI_NUMERICHOST
        return look_up(host, port, family, type, proto, flags | numeric)

    monkeypatch.setattr(socket, "getaddrinfo", own)


@pytest.mark.parametrize("number", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_not(number: str) -> None:
    addresses._refuse_private(number, number)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What each look-up of a name gives, in order."""
    import socket

    answers: list[list[str]] = []

    def look_up(host: Any, port: Any, *_: Any, **__: Any) -> Any:
        numbers = [host] if str(host)[0].isdigit() else answers.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in numbers]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


def test_a_name_may_not_move_to_a_private_address(
    monkeypatch: pytest.MonkeyPatch, private_site: Any, looked_up: list[list[str]], no_waiting: None
) -> None:
    monkeypatch.setattr(addresses, "_is_public", lambda number: str(number) == "127.0.0.9")
    looked_up += [["127.0.0.9"]] * 3 + [["127.0.0.1"]]
    private_site.has("/", "secret")
    address = f"http://moving.example:{private_site.host.partition(':')[2]}/"
    with pytest.raises(ToolError, match="cannot be reached"):  # nobody listens where the name led when it was checked
        get(address)
    with pytest.raises(ToolError, match="'moving.example' is an address of a private network"):
        get(address)
    assert private_site.asked == [] and looked_up == []


def test_one_private_machine_among_several_is_refused(private_site: Any, looked_up: list[list[str]]) -> None:
    looked_up.append(["8.8.8.8", "10.0.0.1"])
    with pytest.raises(ToolError, match="private network"):
        get("http://two.example/")


def test_the_next_machine_of_a_name_is_tried_and_is_told_the_name(
    monkeypatch: pytest.MonkeyPatch, private_site: Any, looked_up: list[list[str]]
) -> None:
    monkeypatch.setattr(addresses, "_is_public", lambda number: True)
    looked_up.append(["127.0.0.9", "127.0.0.1"])
    private_site.has("/a", "here")
    address = f"http://several.example:{private_site.host.partition(':')[2]}/a"
    page = get(address)
    assert (page.text(), page.address) == ("here", address)
    assert private_site.asked[0][2]["host"] == address.split("/")[2]


async def test_two_names_on_one_machine_share_no_connection(site: Any) -> None:
    """A certificate that was checked for one name says nothing of another one."""
    import httpx

    from tools_library.connections import CheckedTransport

    async def places(url: httpx.URL) -> list[str]:
        return ["127.0.0.1"]

    connections = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        connections.append(handler.client_address)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        handler.close_connection = False  # the next request may come by this connection

    site.pages["/"] = answer
    transport = CheckedTransport(places, httpx.create_ssl_context())
    async with httpx.AsyncClient(transport=transport) as client:
        for name in ("a.example", "b.example"):
            assert (await client.get(f"http://{name}:{site.host.partition(':')[2]}/")).text == "hi"
    assert len(set(connections)) == 2


@pytest.mark.parametrize(
    "address", ["example.org", "file:///etc/passwd", "ftp://example.org/a", "http://", "", "//a/b"]
)
def test_what_is_no_web_address_is_refused(address: str) -> None:
    with pytest.raises(ToolError, match="no web address"):
        get(address)


@pytest.mark.parametrize(
    "address", ["http://0177.0.0.1/", "http://[::1/", "http://a:b:c/", "http://a:99999/", "http://exa mple.org\x00/"]
)
def test_a_broken_address_is_an_error_of_the_call(address: str) -> None:
    with pytest.raises(ToolError):
        get(address)


def test_an_unknown_host(no_waiting: None) -> None:
    with pytest.raises(ToolError, match="'nowhere.invalid' is not known"):
        get("https://nowhere.invalid/")


def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, no_waiting: None) -> None:
    monkeypatch.setenv(addresses.ALLOWED, "127.0.0.1:9")
    with pytest.raises(ToolError, match="cannot be reached .*ConnectError"):
        get("http://127.0.0.1:9/")


def test_redirects_are_followed_and_each_is_checked(site: Any, private_site: Any) -> None:
    site.has("/new/page", "here")
    site.has("/old", status=302, Location="new/page?x=1")
    assert get(f"{site.address}/old", query={"q": "1"}).address == f"{site.address}/new/page?x=1"
    private_site.has("/", "secret")
    for target in (f"{private_site.address}/", "file:///etc/passwd"):
        site.has("/out", status=301, Location=target)
        with pytest.raises(ToolError, match="private network|no web address"):
            get(f"{site.address}/out")
    assert private_site.asked == []


def test_a_redirect_loop_ends(site: Any) -> None:
    address = site.has("/loop", status=307, Location="/loop")
    with pytest.raises(ToolError, match="redirects too often"):
        get(address)
    assert len(site.asked) == 6


def test_a_key_is_not_sent_to_another_host(site: Any, private_site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(addresses.ALLOWED, f"{site.host},{private_site.host}")
    private_site.has("/b", "hello")
    site.has("/a", status=302, Location="/c")
    site.has("/c", status=302, Location=f"{private_site.address}/b")
    assert get(f"{site.address}/a", headers={"X-Key": "secret"}).text() == "hello"
    assert [headers.get("x-key") for _, _, headers in site.asked] == ["secret", "secret"]
    assert "x-key" not in private_site.asked[0][2]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_then_given_up(site: Any, no_waiting: None, status: int) -> None:
    address = site.has("/busy", status=status)
    with pytest.raises(ToolError, match=f"answers {status}; try later"):
        get(address)
    assert len(site.asked) == 3


def test_a_server_that_recovers(site: Any, no_waiting: None) -> None:
    address = site.has("/busy", status=503)
    busy = site.pages["/busy"]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        busy(handler)
        site.has("/busy", "well again")

    site.pages["/busy"] = answer
    assert get(address).text() == "well again"


def test_a_missing_page_is_not_asked_for_again(site: Any) -> None:
    with pytest.raises(ToolError, match="answers 404; check the address"):
        get(f"{site.address}/none")
    assert len(site.asked) == 1


def test_a_packed_page_is_unpacked_and_its_whole_size_counts(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = site.has("/z", gzip.compress(b"0" * 5000), kind="text/plain", Content_Encoding="gzip")
    assert get(address).content == b"0" * 5000
    monkeypatch.setattr(addresses, "_MOST_BYTES", 4000)
    with pytest.raises(ToolError, match="more than 0.004 MB"):
        get(address)


def test_files_may_be_larger_than_pages(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_MOST_BYTES", 10)
    monkeypatch.setattr(addresses, "_MOST_FILE_BYTES", 20)
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    for kind, size, fits in [(word, 20, True), (word, 21, False), ("application/pdf", 15, True), ("", 11, False)]:
        address = site.has("/f", b"0" * size, kind=kind)
        if fits:
            assert len(get(address).content) == size
        else:
            with pytest.raises(ToolError, match="sends more than"):
                get(address)
    for kind in ("text/csv", "application/json", "application/atom+xml", "application/xhtml+xml"):
        with pytest.raises(ToolError, match="sends more than"):
            get(site.has("/t", b"0" * 15, kind=kind))


def test_what_is_not_what_its_header_says(site: Any, no_waiting: None) -> None:
    with pytest.raises(ToolError, match="cannot be reached .*DecodingError"):
        get(site.has("/z", b"plain", kind="text/plain", Content_Encoding="gzip"))


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_slow_server_is_bounded_in_all(site: Any, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Long: " + (b"\r\n\r\n" if where == "body" else b""))
        for _ in range(40):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    site.pages["/slow"] = drip
    monkeypatch.setattr(addresses, "_SECONDS", 0.3)
    start = time.monotonic()
    with pytest.raises(ToolError, match="no complete answer within 0.3 s"):
        get(f"{site.address}/slow")
    assert time.monotonic() - start < 1.5


def test_a_proxy_of_the_user_is_used_and_knows_names(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", site.address)
    monkeypatch.delenv(addresses.ALLOWED)
    site.has("/page", "through the proxy")
    assert get("http://nowhere.invalid/page").text() == "through the proxy"
    with pytest.raises(ToolError, match="private network"):
        get("http://127.0.0.1/page")
