"""Units of measurement as exact multiples of SI base units."""

from __future__ import annotations

import difflib
import math
import re
from fractions import Fraction
from typing import NamedTuple

from captain.errors import ToolError

BASES = ("m", "kg", "s", "A", "K", "mol", "rad", "bit")


class Unit(NamedTuple):
    """`factor` base units, with one exponent per entry of `BASES`."""

    factor: Fraction
    dimension: tuple[int, ...]


# name: factor and base units; a prefix (k, m, µ …) may stand before those in _PREFIXABLE
_TABLE = """
m 1 m | g 1/1000 kg | s 1 s | A 1 A | K 1 K | mol 1 mol | rad 1 rad | bit 1 bit | byte 8 bit | B 8 bit
L 1/1000 m3 | l 1/1000 m3 | N 1 kg m s-2 | J 1 kg m2 s-2 | W 1 kg m2 s-3 | Pa 1 kg m-1 s-2 | Hz 1 s-1
coulomb 1 A s | V 1 kg m2 s-3 A-1 | ohm 1 kg m2 s-3 A-2 | bar 100000 kg m-1 s-2 | cal 4.184 kg m2 s-2
eV 1.602176634e-19 kg m2 s-2 | M 1000 mol m-3 | t 1000 kg | Wh 3600 kg m2 s-2
inch 0.0254 m | ft 0.3048 m | yd 0.9144 m | mile 1609.344 m | nmi 1852 m | angstrom 1e-10 m | au 149597870700 m
ly 9460730472580800 m | acre 4046.8564224 m2 | ha 10000 m2 | gal 0.003785411784 m3 | quart 0.000946352946 m3
pint 0.000473176473 m3 | cup 0.0002365882365 m3 | floz 0.0000295735295625 m3
tbsp 0.00001478676478125 m3 | tsp 0.00000492892159375 m3
lb 0.45359237 kg | oz 0.028349523125 kg | stone 6.35029318 kg | u 1.66053906660e-27 kg
min 60 s | h 3600 s | day 86400 s | week 604800 s | year 31557600 s
atm 101325 kg m-1 s-2 | torr 101325/760 kg m-1 s-2 | mmHg 133.322387415 kg m-1 s-2 | psi 6894.757293168 kg m-1 s-2
hp 745.69987158227022 kg m2 s-3 | btu 1055.05585262 kg m2 s-2 | lbf 4.4482216152605 kg m s-2 | dyn 1e-5 kg m s-2
erg 1e-7 kg m2 s-2 | knot 1852/3600 m s-1 | mph 0.44704 m s-1 | kph 1000/3600 m s-1
"""
_PREFIXABLE = set("m g s A K mol bit byte B L l N J W Pa Hz V ohm bar cal eV M Wh t".split())
_PREFIXES = {"T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9}
_PREFIXES |= {"p": -12, "f": -15}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
_LONG_PREFIXES = {
    "tera": "T",
    "giga": "G",
    "mega": "M",
    "kilo": "k",
    "centi": "c",
    "milli": "m",
    "micro": "u",
    "nano": "n",
}
_ALIASES = {
    "meter": "m", "metre": "m", "gram": "g", "second": "s", "sec": "s", "ampere": "A", "amp": "A", "kelvin": "K",
    "mole": "mol", "radian": "rad", "liter": "L", "litre": "L", "newton": "N", "joule": "J", "watt": "W",
    "pascal": "Pa", "hertz": "Hz", "volt": "V", "Ω": "ohm", "calorie": "cal", "electronvolt": "eV", "tonne": "t",
    "in": "inch", "inches": "inch", "foot": "ft", "feet": "ft", "yard": "yd", "mi": "mile", "Å": "angstrom",
    "lightyear": "ly", "hectare": "ha", "gallon": "gal", "pound": "lb", "ounce": "oz", "dalton": "u", "Da": "u",
    "minute": "min", "hour": "h", "hr": "h", "d": "day", "yr": "year", "atmosphere": "atm", "horsepower": "hp",
    "BTU": "btu", "degree": "deg", "°": "deg", "kn": "knot", "kcal": "kcal", "molar": "M", "KB": "kB",
    "fluidounce": "floz", "tablespoon": "tbsp", "teaspoon": "tsp", "nauticalmile": "nmi",
}  # fmt: skip
_TEMPERATURES = {
    "c": "C", "°c": "C", "degc": "C", "celsius": "C", "f": "F", "°f": "F", "degf": "F", "fahrenheit": "F",
    "k": "K", "kelvin": "K", "r": "R", "°r": "R", "rankine": "R",
}  # fmt: skip
_TO_KELVIN = {
    "C": (Fraction(1), Fraction("273.15")),
    "F": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
    "K": (Fraction(1), Fraction(0)),
    "R": (Fraction(5, 9), Fraction(0)),
}


def convert(value: Fraction, source: str, target: str) -> Fraction:
    """Convert a value between two units of one kind.

    Raises:
        ToolError: A unit is unknown, the units measure different things, or a temperature is below absolute zero.
    """
    scales = [_TEMPERATURES.get(unit.strip().lower()) for unit in (source, target)]
    if scales[0] and scales[1]:
        (factor, offset), (other, shift) = _TO_KELVIN[scales[0]], _TO_KELVIN[scales[1]]
        kelvin = value * factor + offset
        if kelvin < 0:
            raise ToolError(f"{float(value):g} {source} is below absolute zero")
        return (kelvin - shift) / other
    origin, goal = read_unit(source), read_unit(target)
    if origin.dimension != goal.dimension:
        raise ToolError(
            f"{source!r} and {target!r} measure different things ({_describe(origin)} and {_describe(goal)})"
        )
    return value * origin.factor / goal.factor


def read_unit(text: str) -> Unit:
    """Read a unit such as `km`, `m/s^2`, `kJ/(mol*K)` or `square feet`.

    Raises:
        ToolError: A part of it is not a known unit.
    """
    text = text.strip().replace("²", "^2").replace("³", "^3").replace("**", "^").replace(" per ", "/")
    text = re.sub(r"\bfl(?:uid)? (?:oz|ounce)s?\b", "floz", re.sub(r"\b(light|nautical) (year|mile)", r"\1\2", text))
    text = re.sub(r"\b(?:square|sq) (\w+)", r"\1^2", text)
    text = re.sub(r"\bcubic (\w+)", r"\1^3", text)
    factor, dimension = Fraction(1), [0] * len(BASES)
    for index, part in enumerate(re.split(r"/", text)):
        grouped = part.strip().startswith("(")
        words = [word for word in re.split(r"[\s*·()]+", part) if word and word != "1"]
        for position, word in enumerate(words):
            sign = -1 if index and (grouped or position == 0) else 1
            unit, power = _power_of(word)
            factor *= unit.factor ** (sign * power)
            dimension = [total + sign * power * each for total, each in zip(dimension, unit.dimension, strict=True)]
    return Unit(factor, tuple(dimension))


def _power_of(word: str) -> tuple[Unit, int]:
    match = re.fullmatch(r"([^\d^+-]+)\^?([+-]?\d)?", word)
    if match is None:
        raise ToolError(f"cannot read the unit {word!r}; write it like 'km', 'm/s^2' or 'kJ/mol'")
    return _named(match.group(1)), int(match.group(2) or 1)


def _named(name: str) -> Unit:
    for candidate in (name, name.lower(), name.rstrip("s"), name.lower().rstrip("s")):
        candidate = _ALIASES.get(candidate, candidate)
        if candidate in UNITS:
            return UNITS[candidate]
        for prefix, exponent in _PREFIXES.items():
            if candidate.startswith(prefix) and candidate[len(prefix) :] in _PREFIXABLE:
                unit = UNITS[candidate[len(prefix) :]]
                return Unit(unit.factor * Fraction(10) ** exponent, unit.dimension)
        for prefix, power in _BINARY.items():
            if candidate.startswith(prefix) and candidate[2:] in ("B", "byte", "bit"):
                unit = UNITS[candidate[2:]]
                return Unit(unit.factor * 2**power, unit.dimension)
        for prefix, short in _LONG_PREFIXES.items():
            rest = candidate[len(prefix) :]
            rest = _ALIASES.get(rest, rest)
            if candidate.startswith(prefix) and rest in _PREFIXABLE:
                return Unit(UNITS[rest].factor * Fraction(10) ** _PREFIXES[short], UNITS[rest].dimension)
    scaled = [prefix + word for prefix in _LONG_PREFIXES for word, unit in _ALIASES.items() if unit in _PREFIXABLE]
    near = difflib.get_close_matches(name, [*UNITS, *_ALIASES, *scaled], n=3)
    raise ToolError(f"unknown unit {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))


def _describe(unit: Unit) -> str:
    parts = [
        f"{base}^{power}" if power != 1 else base for base, power in zip(BASES, unit.dimension, strict=True) if power
    ]
    return " ".join(parts) or "a plain number"


def _read_table() -> dict[str, Unit]:
    units = {}
    for entry in re.split(r"[|\n]", _TABLE.strip()):
        name, factor, *bases = entry.split()
        powers = dict.fromkeys(BASES, 0)
        for base in bases:
            match = re.fullmatch(r"([a-zA-Z]+)(-?\d)?", base)
            assert match is not None
            powers[match.group(1)] = int(match.group(2) or 1)
        units[name] = Unit(_fraction(factor), tuple(powers.values()))
    units["deg"] = Unit(Fraction(math.pi) / 180, units["rad"].dimension)
    return units


def _fraction(text: str) -> Fraction:
    over, _, under = text.partition("/")
    return Fraction(over) / Fraction(under or 1)


UNITS = _read_table()
