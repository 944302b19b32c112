"""Speech as text, from services on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from captain.errors import ToolError
from captain.tools import spec_of
from tools_library import recordings


@pytest.fixture
def hearing(site: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CAPTAIN_AUDIO_URL", f"{site.address}/v1/")
    (workspace / "talk.MP3").write_bytes(b"ID3 sound")
    return site


def test_a_recording_is_transcribed(hearing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hearing.has("/v1/audio/transcriptions", json.dumps({"text": " Good morning. "}), kind="application/json")
    assert recordings.transcribe_audio("talk.MP3") == "Good morning."
    monkeypatch.setenv("CAPTAIN_AUDIO_MODEL", "ears")
    monkeypatch.setenv("CAPTAIN_AUDIO_API_KEY", "test-key")
    recordings.transcribe_audio("talk.MP3", "de")
    first, second = hearing.posted
    assert b"ID3 sound" in first and b'filename="talk.MP3"' in first and b"whisper-1" in first
    assert b'name="language"' not in first and b"\r\n\r\nde\r\n" in second and b"\r\n\r\nears\r\n" in second
    assert [headers["authorization"] for _, _, headers in hearing.asked] == ["Bearer none", "Bearer test-key"]


def test_what_cannot_be_heard(hearing: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "a.txt").write_text("x")
    for path, problem in [("a.txt", "no audio file"), ("none.mp3", "no file"), ("../secret.txt", "outside")]:
        with pytest.raises(ToolError, match=problem):
            recordings.transcribe_audio(path)
    with pytest.raises(ToolError, match="CAPTAIN_AUDIO_URL answers 404"):
        recordings.transcribe_audio("talk.MP3")
    monkeypatch.setattr(recordings, "_MOST_BYTES", 5)
    with pytest.raises(ToolError, match="larger than"):
        recordings.transcribe_audio("talk.MP3")


def test_a_service_that_is_not_there(hearing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPTAIN_AUDIO_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ToolError, match=r"cannot be used \(APIConnectionError\)"):
        recordings.transcribe_audio("talk.MP3")
    monkeypatch.delenv("CAPTAIN_AUDIO_URL")
    assert spec_of(recordings.transcribe_audio).missing() == ["environment variable 'CAPTAIN_AUDIO_URL' is not set"]


VIDEO = "abc_DEF-123"


@pytest.fixture
def videos(site: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A site that answers as YouTube does about one video with English captions."""
    monkeypatch.setenv("CAPTAIN_YOUTUBE_URL", site.address)
    track = {
        "baseUrl": f"https://www.youtube.com/api/timedtext?v={VIDEO}&fmt=srv3",
        "name": {"runs": [{"text": "English"}]},
        "languageCode": "en",
        "vssId": ".en",
        "isTranslatable": False,
    }
    captions = {"playerCaptionsTracklistRenderer": {"captionTracks": [track], "translationLanguages": []}}
    player = {"playabilityStatus": {"status": "OK"}, "captions": captions}
    site.has("/watch", '<script>{"INNERTUBE_API_KEY": "k"}</script>', kind="text/html")
    site.has("/youtubei/v1/player", json.dumps(player), kind="application/json")
    site.has(
        "/api/timedtext",
        '<?xml version="1.0"?><transcript><text start="0.5" dur="2">Good &amp;amp; early</text>'
        '<text start="65.2" dur="3">We begin\n now.</text></transcript>',
        kind="text/xml",
    )
    return site


@pytest.mark.parametrize(
    "video",
    [
        VIDEO,
        f" https://www.youtube.com/watch?v={VIDEO}&t=3s ",
        f"https://youtu.be/{VIDEO}?si=x",
        f"https://www.youtube.com/shorts/{VIDEO}",
        f"https://www.youtube.com/embed/{VIDEO}#a",
    ],
)
def test_captions_come_with_times_and_the_address(videos: Any, video: str) -> None:
    assert recordings.video_captions(video) == (
        f"Source: https://www.youtube.com/watch?v={VIDEO}\n\n[0:00] Good & early\n[1:05] We begin now."
    )
    assert [path for path, _, _ in videos.asked] == ["/watch", "/youtubei/v1/player", "/api/timedtext"]


def test_captions_that_are_not_there(videos: Any) -> None:
    with pytest.raises(ToolError, match="no captions in 'de'; there are: en"):
        recordings.video_captions(VIDEO, "de")
    videos.has("/youtubei/v1/player", '{"playabilityStatus": {"status": "OK"}}', kind="application/json")
    with pytest.raises(ToolError, match="cannot be had .TranscriptsDisabled"):
        recordings.video_captions(VIDEO)
    videos.has("/watch", status=500)
    with pytest.raises(ToolError, match="cannot be had .YouTubeRequestFailed"):
        recordings.video_captions(VIDEO)


def test_no_video_and_no_network(videos: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for video in ("", "a talk about glaciers", "https://example.org/", "short"):
        with pytest.raises(ToolError, match="no video of YouTube"):
            recordings.video_captions(video)
    assert videos.asked == []
    monkeypatch.setenv("CAPTAIN_YOUTUBE_URL", "http://127.0.0.1:9")
    with pytest.raises(ToolError, match="YouTube cannot be reached"):
        recordings.video_captions(VIDEO)
