"""What the texts of a profile must not do: command others, ask for secrets, pose as the system, hide characters.

Patterns find what is written plainly, not every way of saying it; the shared rules of a team come before any profile's
instructions and hold whatever those say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_OTHERS = (
    r"(?:reviewers?|reflectors?|selectors?|planners?|captain|checkers?|verifiers?|executors?|composers?|moderators?|"
    r"members?|experts?|colleagues?|team ?mates?|team|others|other (?:members?|experts?|agents?)|agents?|"
    r"every(?:one|body)(?: else)?|all of them|assistants?)"
)
_ORDERS = (
    r"\b(?:tell|order|command|instruct|force|compel|direct|urge|make) (?:all |any |the |your |each |every )*"
    rf"{_OTHERS}\b",
    rf"\b(?:ignore|disregard|overrule|override|overrid\w+|silence|distrust|bypass) (?:all |any |the |your |what the )*"
    rf"{_OTHERS}\b",
    rf"\b(?:all |the |your )*{_OTHERS} (?:must|have to|has to|shall)(?: not| never)? "
    r"(?:accept|agree|approve|obey|follow|stop|trust|ignore|answer|confirm|defer|keep|be|do|use|not)\b",
    r"\b(?:do not|don't|never|no one may|nobody may|without) (?:verify|verifying|double-check|recheck|review|reviewing|"
    r"question|questioning|contradict|doubt|challenge)\b",
    r"\b(?:no|without(?: any)?) (?:review|verification|double-check|second opinion) (?:is )?"
    r"(?:needed|necessary|required)",
    r"\b(?:accept|approve|trust) (?:my|this expert's|everything I|whatever I) ",
    r"\byour (?:answer|word|result|decision)s? (?:is|are) (?:final|always right|never wrong|law)\b",
)
_SECRET = (
    r"(?:api[- _]?keys?|access[- ]tokens?|auth\w* tokens?|passwords?|passphrases?|credentials?|private keys?|"
    r"secret keys?|the secrets?|secrets? (?:of|from|in)|environment variables?|os\.environ|env vars?|\.env\b|"
    r"/etc/passwd|~?/\.ssh|system (?:prompt|message)s?|hidden (?:prompt|instruction)s?|"
    r"(?:your|these|the|own) instructions)"
)
_REVEAL = (
    r"(?:reveal|print|show|display|send|post|upload|repeat|recite|quote|disclose|dump|leak|output|expose|share|"
    r"give away|hand over|ask (?:\w+ ){0,3}for|request|demand|collect|copy|list|report|return|include|echo|log|"
    r"read(?: out)?|write down|tell)"
)
_SECRETS = rf"\b{_REVEAL}\b[^.;:!?\n]{{0,50}}?(?<![\w-]){_SECRET}"
_NEGATED = re.compile(
    r"\b(?:never|not|n't|without|avoid|instead of|rather than|refuse to|nor|no)\b"
    r"(?! (?:fail|forget|hesitate|omit|refuse))[^.;:!?\n]{0,25}$",
    re.I,
)
_INJECTION = (
    r"\b(?:ignore|disregard|forget|overlook|skip|override|drop)\b[^.\n]{0,20}"
    r"\b(?:previous|prior|above|earlier|preceding|foregoing|existing|original|all other|system)\b[^.\n]{0,20}"
    r"\b(?:instructions?|rules?|messages?|prompts?|directions?|guidelines?|text)",
    r"\bforget (?:everything|all|what you were told|your (?:rules|instructions|role|training))",
    r"\bact as (?:if you were |though you were )?(?:the |a |an )?"
    r"(?:system|developer|admin\w*|root|operator|user|captain|reviewer|reflector|executor)\b",
    r"\byou are now (?:the |a |an )?(?:system|developer|admin\w*|root|operator|unrestricted|free|DAN)\b",
    r"\b(?:developer|debug|god|jailbreak|DAN) mode\b",
    r"<\|?(?:im_start|im_end|system|endoftext|begin_of_text|start_header_id|assistant|user)\|?>|\[/?INST\]|<</?SYS>>",
    r"(?:^|\n)\s*(?:#{2,}\s*)?(?:system|assistant|user|human)\s*:",
    r"\b(?:new|updated|real|true) (?:system )?instructions?\s*:",
    r"\bno (?:longer|more) bound by\b",
    r"\b(?:bypass|disable|turn off) (?:the |all |any |your )?(?:safety|guard\w*|filters?|restrictions?|sandbox)",
)
_FINISHING = (
    r"\b(?:TERMINATED?|TASK[_ ](?:DONE|COMPLETED?|FINISHED)|ALL[_ ]DONE|END[_ ]OF[_ ](?:CHAT|CONVERSATION|TASK)|"
    r"FINAL[_ ]ANSWER|STOP[_ ](?:HERE|NOW|CHAT)|OVER AND OUT)\b",
    r"\b(?:[Ss]ay|[Ww]rite|[Rr]eply|[Ee]nd|[Ff]inish|[Rr]espond|[Aa]nswer|[Pp]rint|[Cc]lose|[Oo]utput|[Ee]xit)\b"
    r"[^.\n]{0,40}?[\"'“‘`]?\b(?:DONE|FINISHED|COMPLETED?|STOP|EXIT|END|APPROVED?|ACCEPTED?|SOLVED|OK)\b[\"'”’`]?",
)
_MODELS = (
    r"\b(?:chat-?gpt|gpt-?[2345](?:\.\d+)?[\w-]*|gpt-oss[\w-]*|text-davinci\S*|davinci-00\d|o[134]-(?:mini|preview|pro)|"
    r"claude[- ](?:\d[\w.-]*|opus|sonnet|haiku|instant)|gemini[- ](?:\d[\w.-]*|pro|flash|ultra|nano)|gemma[- ]?\d\w*|"
    r"llama[- ]?\d[\w.-]*|code-?llama\S*|mi[sx]tral[- ](?:\d\w*|large|small|medium|nemo|instruct)|qwen[\d.-]+\w*|"
    r"deepseek[- ](?:\w+)|grok[- ]?\d|command-r\S*|phi-[1234]\S*|falcon-\d+b|palm[- ]2|kimi[- ]k\d\S*|glm-\d\S*|"
    r"smollm\S*|granite-\d\S*)",
)


def _compiled(*patterns: str, flags: int = re.I) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), flags)


_RULES = {
    "orders": _compiled(*_ORDERS),
    "secrets": _compiled(_SECRETS),
    "injection": _compiled(*_INJECTION),
    "finishing-word": _compiled(*_FINISHING, flags=0),
    "model-name": _compiled(*_MODELS),
}
CONTENT_KINDS = (*_RULES, "invisible-character")


@dataclass(frozen=True)
class TextFault:
    """A passage that must not stand in a profile."""

    kind: str
    """One of `CONTENT_KINDS`."""
    quote: str


def text_faults(text: str) -> Iterator[TextFault]:
    """The faults of a text that members or models read, each kind once."""
    hidden = _invisible(text)
    if hidden:
        yield TextFault("invisible-character", hidden)
    # What is hidden between letters must not hide a word either.
    plain = " ".join("".join(letter for letter in text if not _hides(letter)).split(" "))
    plain = re.sub(r"[^\S\n]+", " ", plain)
    for kind, pattern in _RULES.items():
        for match in pattern.finditer(plain if kind == "injection" else plain.replace("\n", " ")):
            if kind == "secrets" and _NEGATED.search(plain.replace("\n", " ")[: match.start()]):
                continue
            yield TextFault(kind, " ".join(match.group().split()))
            break


def _invisible(text: str) -> str:
    """The first character that is not seen but changes what is read, by code and name."""
    for place, letter in enumerate(text):
        if _hides(letter) and not _joins(text, place):
            return f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character')}"
    return ""


def _hides(letter: str) -> bool:
    return letter not in "\n\t\r" and unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs")


def _joins(text: str, place: int) -> bool:
    """Whether a joiner or non-joiner stands inside a word of a script that needs it, or inside an emoji."""
    if text[place] not in "\u200c\u200d" or not 0 < place < len(text) - 1:
        return False
    return ord(text[place - 1]) > 0x2FF and ord(text[place + 1]) > 0x2FF
