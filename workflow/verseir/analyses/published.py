"""Do the figures that a paper prints come out? Printed and computed side by side, with a verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from verseir.faults import Fault, InputFaults, closest
from verseir.rows import read_utf8
from verseir.tables import define
from verseir.yaml_files import read_yaml

SCHEMA = Path(__file__).parents[2] / "schemas" / "published.schema.json"

#: ``published`` is as printed; ``computed`` and ``difference`` are in the same unit.
PUBLISHED = define(
    "published",
    {
        "source": pl.String,
        "id": pl.String,
        "place": pl.String,
        "quantity": pl.String,
        "unit": pl.String,
        "published": pl.String,
        "computed": pl.Float64,
        "difference": pl.Float64,
        "verdict": pl.String,
        "note": pl.String,
    },
    nullable="computed difference note",
    unique="id",
)

#: ok: it rounds to what is printed, or the printed relation holds. tied: another order of tied documents may give what
#: is printed. close: near enough to be another rounding or another test of the same kind. fail: none of these. open:
#: nothing to compare, and the note says why.
VERDICTS = ("ok", "tied", "close", "fail", "open")

#: What tables hold as shares.
HUNDREDTHS = ("percent", "points")
#: What is either so or not.
EXACT = ("rank", "count")
#: A figure is close within so many units of its last printed decimal ...
CLOSE_UNITS = 2
#: ... and a p within this factor, on the same side of the line.
CLOSE_FACTOR, LINE = 1.5, 0.05

#: Which of several values a lookup takes; how many there are is counted apart.
TAKEN: dict[str, Callable[[list[float]], float]] = {
    "lowest": min,
    "highest": max,
    "smallest": lambda values: min(map(abs, values)),
    "largest": lambda values: max(map(abs, values)),
}

_PRINTED = re.compile(r"(?:(<=|>=|<|>|~) )?([+-]?[0-9.]+(?:e-?[0-9]+)?)")
_COMPARED = re.compile(r"(!=|<=|>=|<|>) (.+)")
_ROLE = re.compile(r"\{([^{}]+)\}")


class Printed(NamedTuple):
    """A printed figure: its relation to what was measured, its value, and the unit of its last decimal."""

    relation: str
    value: Decimal
    step: Decimal


class Found(NamedTuple):
    """What a lookup finds: the value, and the lowest and the highest that it could be under another order of ties."""

    value: float
    bounds: tuple[float, float] | None = None

    def times(self, factor: float) -> Found:
        """All of it in a unit ``factor`` times smaller."""
        return Found(self.value * factor, self.bounds and (self.bounds[0] * factor, self.bounds[1] * factor))


class _Open(Exception):
    """There is nothing to compare; the message says why."""


class _Mistaken(Exception):
    """A lookup that can never be right; the message says why."""


def read_published(path: Path) -> dict[str, Any]:
    """The figures of a YAML file.

    Raises:
        InputFaults: all faults at once: keys, figures that are no figures, a name that comes twice.
    """
    import jsonschema

    faults: list[Fault] = []
    text = read_utf8(path, str(path), faults)
    content, _, unsound = read_yaml(text, str(path))
    faults += unsound
    if faults:
        raise InputFaults(faults)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(content):
        faults.append(_schema_fault(error, content, path))
    if not faults:
        names = [figure["id"] for figure in content["figures"]]
        for name in sorted({name for name in names if names.count(name) > 1}):
            faults.append(Fault(str(path), 0, name, "this name is given twice", "give each figure a name of its own"))
    if faults:
        raise InputFaults(faults)
    return content


def _schema_fault(error: Any, content: Any, path: Path) -> Fault:
    place = list(error.absolute_path)
    if len(place) > 1 and place[0] == "figures":  # name the figure, not its number
        figure = content["figures"][place[1]]
        place[:2] = [figure["id"] if isinstance(figure, dict) and "id" in figure else f"figure {place[1] + 1}"]
    problem = error.message
    if error.validator == "oneOf":
        problem = "needs either lookup or open"
    if error.validator == "not":
        problem = "between stands with none of minus, over, rank and take"
    return Fault(str(path), 0, ".".join(map(str, place)), problem, error.schema.get("description", ""))


def published(
    content: Mapping[str, Any], names: Mapping[str, str], tables: Mapping[str, pl.DataFrame], rebuilt: bool
) -> pl.DataFrame:
    """The PUBLISHED table, in the order of the file.

    Args:
        content: as ``read_published`` gives it.
        names: what the study calls the roles in the file: corpora, query sets, modes and systems.
        tables: the tables of the study by name, every column as text.
        rebuilt: whether the study's runs are rebuilt from printed figures: what these do not fix is then open.

    Raises:
        InputFaults: a lookup that names a column that its table does not have, or means several rows without saying
            which to take.
    """
    rows, faults = [], []
    for figure in content["figures"]:
        row = {
            "source": content["source"],
            "published": figure["printed"],
            **{key: figure[key] for key in ("id", "place", "quantity", "unit")},
        }
        printed = parse_printed(figure["printed"])
        told = [figure["note"]] if "note" in figure else []
        try:
            if "open" in figure:
                raise _Open(figure["open"])
            if rebuilt and "unfixed" in figure:
                raise _Open(figure["unfixed"])
            found = _look_up(figure["lookup"], names, tables).times(100 if figure["unit"] in HUNDREDTHS else 1)
            row["computed"] = found.value
            row["difference"] = float(Decimal(repr(found.value)) - printed.value)
            rounding = figure.get("rounding", "half-even")
            row["verdict"] = verdict(found.value, printed, figure["unit"], rounding, found.bounds)
            if row["verdict"] == "tied" and found.bounds:
                told.insert(0, f"orders of tied documents give {found.bounds[0]:.6g} to {found.bounds[1]:.6g}")
        except _Open as why:
            row["verdict"] = "open"
            told.insert(0, str(why))
        except _Mistaken as why:
            table = figure["lookup"]["table"]
            faults.append(Fault(f"tables/{table}.csv", 0, figure["id"], str(why), "mend its lookup"))
        rows.append(row | {"note": "; ".join(told) or None})
    if faults:
        raise InputFaults(faults)
    return pl.DataFrame(rows, schema=dict(PUBLISHED.columns))


def parse_printed(text: str) -> Printed:
    """The parts of a printed figure, such as ``0.746``, ``+37.8``, ``.47``, ``< 1e-20`` or ``~ 0.65``."""
    match = _PRINTED.fullmatch(text)
    assert match, text  # the schema has seen to it
    value = Decimal(match[2])
    return Printed(match[1] or "=", value, Decimal(1).scaleb(int(value.as_tuple().exponent)))


def verdict(
    computed: float, printed: Printed, unit: str, rounding: str, bounds: tuple[float, float] | None = None
) -> str:
    """``ok``, ``tied``, ``close`` or ``fail``: see ``VERDICTS``; ``bounds`` are the ends of what ties leave open."""
    value = _exact(computed)
    relations = {
        "<": value < printed.value,
        "<=": value <= printed.value,
        ">": value > printed.value,
        ">=": value >= printed.value,
    }
    if printed.relation in relations:
        return "ok" if relations[printed.relation] else "fail"
    gap = abs(value - printed.value)
    if printed.relation == "~" and gap <= printed.step:
        return "ok"
    if rounded(value, printed.step, rounding) == printed.value:
        return "ok"
    if bounds is not None:
        low, high = (rounded(_exact(end), printed.step, rounding) for end in bounds)
        if low <= printed.value <= high:
            return "tied"
    if unit == "p":
        same_side = (value < LINE) == (printed.value < LINE)
        factor = max(value, printed.value) / min(value, printed.value) if min(value, printed.value) > 0 else None
        return "close" if same_side and factor is not None and factor <= Decimal(str(CLOSE_FACTOR)) else "fail"
    return "close" if unit not in EXACT and gap <= CLOSE_UNITS * printed.step else "fail"


def _exact(value: float) -> Decimal:
    """``value`` free of the noise of binary fractions."""
    return Decimal(f"{value:.12g}")


def rounded(value: Decimal, step: Decimal, rounding: str) -> Decimal:
    """``value`` to whole multiples of ``step``, a power of ten."""
    if rounding == "twice":
        return value.quantize(step / 10, ROUND_HALF_UP).quantize(step, ROUND_HALF_UP)
    return value.quantize(step, ROUND_HALF_UP if rounding == "half-up" else ROUND_HALF_EVEN)


def _look_up(lookup: Mapping[str, Any], names: Mapping[str, str], tables: Mapping[str, pl.DataFrame]) -> Found:
    table = lookup["table"]
    where = _named(lookup["where"], names)
    rank, minus, over = (_named(lookup.get(key, {}), names) for key in ("rank", "minus", "over"))
    if table not in tables:
        raise _Open(f"the study makes no table {table}")
    frame = tables[table]
    for column in (lookup["value"], *where, *rank, *minus, *over, *lookup.get("between", [])):
        if column not in frame.columns:
            raise _Mistaken(f"the table {table} has no column '{column}'; {closest(column, frame.columns)}")
    rows = _rows(frame, where)
    if lookup.get("take") == "number":
        return Found(float(len(rows)))
    if rows.is_empty():
        raise _Open(f"the study has no such row in its table {table}")
    if "rank" in lookup:
        own, all_values = _one(_rows(rows, rank), lookup), _values(rows, lookup["value"])
        return Found(1.0 + sum(value > own for value in all_values))
    value = _one(rows, lookup)
    if minus:
        value -= _one(_rows(frame, {**where, **minus}), lookup)
    if over:
        whole = _one(_rows(frame, {**where, **over}), lookup)
        if whole == 0:
            raise _Open("not estimable: a share of nothing")
        value /= whole
    return Found(value, _bounds(rows, *lookup["between"]) if "between" in lookup else None)


def _bounds(rows: pl.DataFrame, low: str, high: str) -> tuple[float, float] | None:
    """The ends of what the order of tied documents leaves open; None where an end is not known."""
    lows, highs = _values(rows, low), _values(rows, high)
    return (min(lows), max(highs)) if lows and highs else None


def _named(where: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """``where`` with roles replaced by the study's names."""

    def name_of(role: re.Match[str]) -> str:
        if role[1] not in names:
            raise _Open(f"the study has nothing that stands for '{role[1]}'")
        return names[role[1]]

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(part) for part in value]
        return _ROLE.sub(name_of, value) if isinstance(value, str) else value

    return {column: named(value) for column, value in where.items()}


def _rows(frame: pl.DataFrame, where: Mapping[str, Any]) -> pl.DataFrame:
    return frame.filter(*(_holds(column, value) for column, value in where.items()))


def _holds(column: str, value: Any) -> pl.Expr:
    """Whether a cell, which is text, has a value: see ``where`` in the schema."""
    cell = pl.col(column)
    number = cell.cast(pl.Float64, strict=False)
    if value is None:
        return cell.is_null()
    if isinstance(value, list):
        return pl.any_horizontal(_holds(column, part) for part in value)
    if not isinstance(value, str):
        return number == value
    compared = _COMPARED.fullmatch(value)
    if compared is None:
        return cell == value
    if compared[1] == "!=":
        return cell != compared[2]
    try:
        bound = float(compared[2])
    except ValueError:
        raise _Mistaken(f"'{value}' compares {column} with something that is no number") from None
    return {"<": number.lt, "<=": number.le, ">": number.gt, ">=": number.ge}[compared[1]](bound)


def _one(rows: pl.DataFrame, lookup: Mapping[str, Any]) -> float:
    """The value of the row that the lookup means; of several rows they must agree, or it says which to take."""
    if rows.is_empty():
        raise _Open(f"the study has no such row in its table {lookup['table']}")
    values = _values(rows, lookup["value"])
    if not values:
        notes = rows["note"].drop_nulls().to_list() if "note" in rows.columns else []
        raise _Open(notes[0] if notes else "not estimable")
    if "take" not in lookup and len(set(values)) > 1:
        raise _Mistaken(f"means {len(rows)} rows that differ, and does not say which to take")
    return TAKEN[lookup.get("take", "highest")](values)


def _values(rows: pl.DataFrame, column: str) -> list[float]:
    return rows[column].cast(pl.Float64, strict=False).drop_nulls().to_list()
