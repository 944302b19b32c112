"""Roles and whole problems, asked of the packaged experts, find somebody of the right field."""

from __future__ import annotations

import pytest

from captain.config import CaptainConfig, LibraryConfig, ModelSpec
from captain.library import Library

ROLES = {
    "Mathematician": {"mathematics"},
    "Number theory expert": {"mathematics"},
    "Geometry expert": {"mathematics"},
    "Probability expert": {"mathematics", "statistics"},
    "Thermodynamics expert": {"physics", "chemistry"},
    "Physics expert": {"physics"},
    "Chemistry expert": {"chemistry"},
    "Data scientist": {"data_analysis"},
    "Statistician": {"data_analysis", "statistics"},
    "Python expert": {"programming"},
    "Web researcher": {"research"},
    "Checker who recomputes the result": {"verification"},
    "Supply chain expert": {"operations_research"},
    "Recommender system developer": {"recommendation"},
    "Shopping assistant": {"shopping"},
    "Translator": {"language"},
    "Proofreader": {"writing"},
    "Lawyer": {"law_and_policy"},
    "Doctor": {"health"},
    "Economist": {"economics"},
    "Astronomer": {"astronomy"},
    "Geologist": {"earth_sciences"},
    "SQL expert": {"databases"},
    "Network engineer": {"infrastructure"},
}
PROBLEMS = {
    "A rope of 60 m is cut into two parts whose lengths are as 3 to 7. How long is the shorter part?": {"mathematics"},
    "Let $p(x) = x^3 - 6x^2 + 3x + k$. One root is twice another. Find all possible $k$.": {"mathematics"},
    "In how many ways can the letters of PEPPER be arranged so that no two P stand together?": {"mathematics"},
    "Evaluate $\\int_0^2 x e^{-3x} dx$.": {"mathematics"},
    "Solve $y'' - 5y' + 6y = e^t$ with $y(0) = 0$, $y'(0) = 2$.": {"mathematics"},
    "def trim_peaks(heights: List[int]) -> List[int]:\n    '''Remove each element that exceeds both its neighbours.\n"
    "    >>> trim_peaks([1, 5, 2])\n    [1, 2]\n    '''": {"programming"},
    "def initials(name: str) -> str:\n    '''Return the first letter of each word of name in upper case.'''": {
        "programming"
    },
    "What is the median of the column 'rent' for flats built after 1990, rounded to two decimals?": {"data_analysis"},
    "Check whether the column 'wind_speed' has outliers by the interquartile range and give their number.": {
        "data_analysis"
    },
    "Is there a linear relationship between the columns 'age' and 'distance'? Report r and the p-value.": {
        "data_analysis"
    },
    "A crate of 40 kg is pulled by a rope at 30 degrees over a floor with friction 0.3. Find its acceleration.": {
        "physics"
    },
    "A thin lens of focal length 15 cm forms a real image three times as large. Where is the object?": {"physics"},
    "A comet passes the Sun at 0.4 AU with 60 km/s. Is its orbit closed?": {"physics", "astronomy"},
    "Calculate the pH after 20 mL of 0.1 M NaOH are added to 50 mL of 0.08 M formic acid.": {"chemistry"},
    "The rotational lines of a diatomic molecule are 12.6 cm-1 apart. Find its bond length.": {"chemistry"},
    "How much does the molar entropy of an ideal gas grow when its volume doubles at constant temperature?": {
        "chemistry",
        "physics",
    },
}
STRANGE = ["Ballet choreographer", "How do I knit the heel of a sock?", "Tattoo artist", "Trains dogs to sit and stay"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    settings = LibraryConfig(user_dir=str(tmp_path_factory.mktemp("user")))
    return Library(CaptainConfig(model=ModelSpec(name="none", provider="scripted"), library=settings))


@pytest.mark.model
@pytest.mark.parametrize("asked", [ROLES, PROBLEMS], ids=["roles", "problems"])
async def test_the_right_field_is_found(library: Library, asked: dict[str, set[str]]) -> None:
    found = {text: [hit.item.domain for hit in await library.search_experts(text)] for text in asked}
    first = [text for text, right in asked.items() if not right & set(found[text][:1])]
    three = [text for text, right in asked.items() if not right & set(found[text][:3])]
    assert len(first) <= len(asked) // 10, {text: found[text] for text in first}
    assert three == [], {text: found[text] for text in three}


@pytest.mark.model
async def test_nobody_is_found_for_what_no_expert_does(library: Library) -> None:
    found = {text: [hit.item.name for hit in await library.search_experts(text)] for text in STRANGE}
    assert found == {text: [] for text in STRANGE}
