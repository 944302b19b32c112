"""What is said in recordings and videos, as text."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from captain.errors import ToolError
from captain.tools import tool
from tools_library.conversion import window
from tools_library.endpoints import endpoint
from tools_library.tables import existing_file

if TYPE_CHECKING:
    import requests

_SECONDS = 15.0
_MOST_BYTES = 25_000_000
_ENDINGS = (".mp3", ".wav", ".m4a", ".ogg", ".flac", ".webm", ".mp4", ".mpeg", ".mpga")
_VIDEO = re.compile(r"(?:^|[/=])([\w-]{11})(?:$|[?&#/])")
_PLACE = "https://www.youtube.com"


@tool(needs_env=("CAPTAIN_AUDIO_URL",), network=True)
def transcribe_audio(path: str, language: str = "") -> str:
    """Transcribe a recording (speech to text): what is said in an audio file such as MP3, WAV, M4A, OGG or FLAC.

    Args:
        path: The audio file, at most 25 MB.
        language: Code of the spoken language in two letters, such as en or de; found out when empty.

    Returns:
        What is said, up to 12,000 characters.

    Raises:
        ToolError: There is no such file, it is too large or of another kind, or the service cannot be reached.
    """
    file = existing_file(path)
    if file.suffix.lower() not in _ENDINGS:
        raise ToolError(f"{path!r} is no audio file; {', '.join(_ENDINGS)} can be heard")
    if file.stat().st_size > _MOST_BYTES:
        raise ToolError(f"{path!r} is larger than {_MOST_BYTES // 1_000_000} MB; cut it into parts")
    asked: dict[str, Any] = {"language": language} if language else {}
    with endpoint("AUDIO") as client, file.open("rb") as stream:
        heard = client.audio.transcriptions.create(
            file=(file.name, stream), model=os.environ.get("CAPTAIN_AUDIO_MODEL") or "whisper-1", **asked
        )
    return window(str(heard.text or "").strip(), 0, what="the recording")


@tool(needs_packages=("youtube_transcript_api",), network=True)
def video_captions(video: str, language: str = "en", start: int = 0) -> str:
    """Read the captions (subtitles, transcript) of a YouTube video: what is said in it, with times.

    Args:
        video: Its address or its identifier of 11 characters.
        language: Code of the language of the captions, such as en or de.
        start: First character to read, from 0; the end of a part says where the next begins.

    Returns:
        The video's address and up to 12,000 characters of its captions, each line with its time in minutes and
        seconds.

    Raises:
        ToolError: It is no video, it has no captions in this language, or YouTube cannot be reached.
    """
    import requests
    from youtube_transcript_api import CouldNotRetrieveTranscript, NoTranscriptFound, YouTubeTranscriptApi

    found = _VIDEO.search(video.strip())
    if found is None:
        raise ToolError(f"{video!r} is no video of YouTube; give its address or its identifier of 11 characters")
    name = found.group(1)
    try:
        with _session() as session:
            listed = YouTubeTranscriptApi(http_client=session).list(name)
            captions = listed.find_transcript([language]).fetch()
    except NoTranscriptFound as error:
        there = ", ".join(sorted({caption.language_code for caption in listed})) or "none"
        raise ToolError(f"the video has no captions in {language!r}; there are: {there}") from error
    except CouldNotRetrieveTranscript as error:
        raise ToolError(
            f"the captions of {name!r} cannot be had ({type(error).__name__}); use another source"
        ) from error
    except requests.RequestException as error:
        raise ToolError(f"YouTube cannot be reached ({type(error).__name__}); work without it") from error
    lines = [f"[{int(part.start) // 60}:{int(part.start) % 60:02}] {' '.join(part.text.split())}" for part in captions]
    return f"Source: {_PLACE}/watch?v={name}\n\n{window(chr(10).join(lines), start, what='the captions')}"


def _session() -> requests.Session:
    """A session with a time limit; `CAPTAIN_YOUTUBE_URL` stands in for YouTube where it is set."""
    import requests

    class Bounded(requests.Session):
        def request(self, method: Any, url: Any, *given: Any, **settings: Any) -> requests.Response:
            place = os.environ.get("CAPTAIN_YOUTUBE_URL") or _PLACE
            address = re.sub(rf"^{re.escape(_PLACE)}(?=/)", lambda _: place.rstrip("/"), str(url))
            return super().request(method, address, *given, **{"timeout": _SECONDS, **settings})

    return Bounded()
