"""A fictional panel of smart meters: households and shops of the survey's invented country, with the curves of their
electricity and, if wanted, of their water.

Everything here is made up. The shape is that of real metering: a few habits by which people live and shops open,
weekends that differ from other days, single appliances that stand out, heating that follows the weather, levels that
are skewed, and meters that fall silent for a while or were installed late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError, UnknownNameError
from microveil.microdata.datasets.sample_survey import REGION_SHARE, REGIONS, survey_schema
from microveil.microdata.microdata import Microdata
from microveil.microdata.panel import Form, Panel
from microveil.microdata.schema import Attribute, Schema
from microveil.randomness import PublicStreams, check_seed
from microveil.typing import BoolArray, FloatArray, IntArray

Step = Literal["quarter-hour", "hour", "month"]
MOST_METERS = 10_000_000
MOST_CELLS = 1_000_000_000
VARIABLES = ("load", "water")
CUSTOMERS = ("household", "shop")
DWELLINGS = ("flat", "terraced house", "detached house", "business premises")
HEATINGS = ("gas", "district heating", "heat pump", "electric storage")
_SHOP, _PREMISES, _HEAT_PUMP, _STORAGE = 1, 3, 2, 3

_STEPS: dict[str, tuple[int, int]] = {"quarter-hour": (96, 1), "hour": (24, 7), "month": (12, 2)}  # points, periods
_START = datetime(2025, 1, 6)  # a Monday in winter
_UNITS = {"load": ("kW", "kWh"), "water": ("l/h", "m3")}
_MOST = {"load": (200.0, 100_000.0), "water": (20_000.0, 10_000.0)}
_CHUNK = 2_000_000  # cells that are drawn at a time
_SILENCE = 4.0  # points that a meter is silent on average

_DWELLING_SHARE = np.array([0.52, 0.22, 0.26])
_HEATING_SHARE = np.array([[0.45, 0.40, 0.06, 0.09], [0.58, 0.14, 0.22, 0.06], [0.50, 0.02, 0.38, 0.10]])
_PERSON_SHARE = np.array([[0.50, 0.31, 0.11, 0.06, 0.02, 0.0], [0.18, 0.34, 0.21, 0.19, 0.06, 0.02]])
_AREA = np.array([66.0, 108.0, 142.0, 210.0])
_REGION_COLD = np.array([-2.5, -2.5, -3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Habit:
    """How a day goes: bumps of activity, each with its hour, its width in hours and its height, on working days and at
    weekends; and its share among households or shops."""

    share: float
    working: tuple[tuple[float, float, float], ...]
    weekend: tuple[tuple[float, float, float], ...]


_AT_HOME = ((9.5, 2.0, 0.7), (13.0, 2.0, 0.7), (19.5, 2.2, 1.0))
HOUSEHOLD_HABITS = (
    Habit(0.44, ((7.0, 0.8, 0.7), (19.0, 1.9, 1.2)), _AT_HOME),  # out at work during the day
    Habit(0.20, ((8.0, 1.2, 0.6), (12.5, 1.5, 0.8), (18.5, 2.0, 1.0)), _AT_HOME),  # somebody at home
    Habit(
        0.24, ((8.5, 1.3, 0.7), (12.0, 1.2, 0.9), (18.0, 1.6, 0.7)), ((9.0, 1.4, 0.7), (12.2, 1.2, 0.9), (18, 1.8, 0.7))
    ),
    Habit(0.12, ((14.0, 2.0, 0.6), (23.0, 2.6, 1.1)), ((14.5, 2.5, 0.8), (0.5, 2.6, 1.1))),  # up at night
)
SHOP_HABITS = (
    Habit(0.65, ((11.0, 2.0, 1.6), (16.5, 2.0, 1.7)), ((12.0, 2.0, 0.8),)),  # open all day
    Habit(0.15, ((4.0, 1.3, 2.6), (9.0, 2.0, 1.4)), ((4.5, 1.2, 2.4), (9.0, 1.8, 1.2))),  # a bakery
    Habit(0.20, ((13.0, 1.6, 1.2), (20.0, 2.2, 2.4)), ((13.0, 1.8, 1.6), (20.5, 2.4, 2.8))),  # a restaurant
)


def metering(
    meters: int = 1000,
    seed: int = 1,
    *,
    step: Step = "quarter-hour",
    periods: int | None = None,
    variables: Sequence[str] = ("load",),
    gaps: float = 0.0,
    form: Form = "wide",
) -> Microdata:
    """A fictional panel of exactly so many smart meters, the same for the same seed.

    `step` is the time between two values: a quarter of an hour or an hour over so many `periods` of a day (1 day, or
    7), or a month over so many years (2). `variables` are "load" and, beside it, "water". `gaps` is about the share of
    values that are missing, since a meter was silent or not installed yet. With `form="long"` the table is written, and
    given as a frame, with a row for every meter and time.

    The curves are what an intruder may know (keys); the number of persons and the bills in arrears are confidential.

    >>> panel = metering(200)
    >>> (load,) = panel.series_among(panel.schema.keys)
    >>> load.values.shape, panel.schema.confidential
    ((200, 96), ('persons', 'arrears'))
    """
    seed = check_seed(seed)
    _check_choice("step", step, tuple(_STEPS))
    _check_choice("form", form, ("wide", "long"))
    chosen = _check_variables(variables)
    points, usual = _STEPS[step]
    meters = _check_whole("meters", meters, 0, MOST_METERS)
    periods = usual if periods is None else _check_whole("periods", periods, 1, 10_000)
    length = points * periods
    if meters * length * len(chosen) > MOST_CELLS:
        raise ParameterError(f"so many meters and points are more than {MOST_CELLS:,} values; ask for fewer")
    if isinstance(gaps, bool) or not isinstance(gaps, int | float) or not 0 <= gaps <= 0.9:
        raise ParameterError(f"gaps must be a share from 0 to 0.9, got {gaps!r}")
    calendar = Calendar.of(step, periods)
    weather = _temperature(calendar, PublicStreams(seed).generator("metering", "weather"))
    size = max(1, _CHUNK // length)
    chunks = [
        _panel(min(size, meters - first), first, calendar, weather, chosen, gaps, PublicStreams(seed, step=number))
        for number, first in enumerate(range(0, max(meters, 1), size))
    ]
    return Microdata.of(pa.concat_tables(chunks), metering_schema(calendar, chosen, form))


@dataclass(frozen=True)
class Calendar:
    """The times of a panel: their names, the hour of the day and the day of each, and which days are weekends."""

    step: Step
    names: tuple[str, ...]
    hour: FloatArray
    day: IntArray
    weekend: BoolArray

    @classmethod
    def of(cls, step: Step, periods: int) -> Calendar:
        points = _STEPS[step][0]
        if step == "month":
            months = [(2025 + i // 12, i % 12 + 1) for i in range(12 * periods)]
            middle = np.array([round(30.4 * i + 15) for i in range(12 * periods)])
            names = tuple(f"{year}-{month:02d}" for year, month in months)
            return cls(step, names, np.zeros(len(names)), middle, np.zeros(len(names), dtype=np.bool_))
        minutes = 24 * 60 // points
        when = [_START + timedelta(minutes=minutes * i) for i in range(points * periods)]
        written = "%H:%M" if periods == 1 else "%Y-%m-%d %H:%M"
        return cls(
            step,
            tuple(stamp.strftime(written) for stamp in when),
            np.array([stamp.hour + stamp.minute / 60 for stamp in when]),
            np.array([(stamp - _START).days + 5 for stamp in when]),  # days of the year, from 0
            np.array([stamp.weekday() >= 5 for stamp in when]),
        )

    def season(self) -> FloatArray:
        """Cold and dark: 1 in the middle of January, -1 in July."""
        return np.asarray(np.cos(2 * np.pi * (self.day - 15) / 365.25))


def metering_schema(calendar: Calendar, variables: Sequence[str], form: Form) -> Schema:
    """The schema of a panel of meters, with its series."""
    region = next(a for a in survey_schema() if a.name == "region")
    static = [
        Attribute(name="meter", kind="nominal", roles=("series",), missing="refuse", label="Meter number"),
        region.changed(roles=("stratum",), label="Region of supply"),
        Attribute(name="customer", kind="nominal", domain=CUSTOMERS, label="Kind of customer"),
        Attribute(name="dwelling", kind="nominal", domain=DWELLINGS, label="Kind of building"),
        Attribute(name="area", kind="numeric", range=(10, 2000), label="Area in square metres"),
        Attribute(name="heating", kind="nominal", domain=HEATINGS, label="Main heating"),
        Attribute(
            name="persons",
            kind="numeric",
            roles=("confidential",),
            range=(1, 6),
            missing="not applicable",
            label="Persons in the household",
        ),
        Attribute(
            name="arrears", kind="numeric", roles=("confidential",), range=(0, 12), label="Monthly bills in arrears"
        ),
    ]
    monthly = calendar.step == "month"
    columns = {v: [f"{v} {name}" for name in calendar.names] for v in variables}
    series = [
        Attribute(
            name=column,
            kind="numeric",
            roles=("key",),
            range=(0, _MOST[v][monthly]),
            label=f"{v} in {_UNITS[v][monthly]}",
        )
        for v in variables
        for column in columns[v]
    ]
    panel = Panel(
        form,
        "meter",
        "time" if form == "long" else None,
        tuple(variables),
        patterns={} if form == "long" else {v: (f"{v} *",) for v in variables},
        columns={v: {column: i for i, column in enumerate(listed)} for v, listed in columns.items()},
        positions=tuple(float(i) for i in range(len(calendar.names))),
        times=pa.array(calendar.names),
        order=("meter", *(a.name for a in static[1:]), "time", *variables) if form == "long" else (),
    )
    return Schema([*static, *series], panel)


def _panel(
    meters: int,
    first: int,
    calendar: Calendar,
    weather: FloatArray,
    variables: Sequence[str],
    gaps: float,
    streams: PublicStreams,
) -> pa.Table:
    """One chunk of meters."""

    def draws(what: str) -> np.random.Generator:
        return streams.generator("metering", what)

    site = _Site.drawn(meters, draws)
    columns: dict[str, Any] = {
        "meter": _meter_numbers(first, meters),
        "region": _labels(REGIONS, site.region),
        "customer": _labels(CUSTOMERS, site.is_shop.astype(np.int64)),
        "dwelling": _labels(DWELLINGS, site.dwelling),
        "area": pa.array(site.area),
        "heating": _labels(HEATINGS, site.heating),
        "persons": pa.array(site.persons, mask=site.is_shop),
        "arrears": pa.array(
            np.minimum(12, draws("arrears").poisson(np.where(draws("poor").random(meters) < 0.1, 2.5, 0.08)))
        ),
    }
    silent = _silence(meters, len(calendar.names), gaps, draws("silence"))
    for variable in variables:
        if calendar.step == "month":
            values = _months(site, calendar, weather, variable, draws)
        else:
            values = _days(site, calendar, weather, variable, draws)
        values = np.asarray(np.minimum(values, _MOST[variable][calendar.step == "month"]).round(3), dtype=np.float64)
        for column, name in enumerate(calendar.names):
            columns[f"{variable} {name}"] = pa.array(
                values[:, column], mask=None if silent is None else silent[:, column]
            )
    return pa.table(columns)


@dataclass(frozen=True)
class _Site:
    """Who and what stands behind each meter."""

    region: IntArray
    is_shop: BoolArray
    dwelling: IntArray
    persons: IntArray
    heating: IntArray
    area: IntArray
    habit: IntArray  # among those of households or of shops
    late: FloatArray  # hours by which a meter's day is later than usual
    idle: FloatArray  # what always runs, in kW
    activity: FloatArray  # the height of the bumps, in kW

    @classmethod
    def drawn(cls, meters: int, draws: Any) -> _Site:
        region = draws("region").choice(len(REGIONS), size=meters, p=REGION_SHARE)
        is_shop = draws("customer").random(meters) < 0.1
        home = draws("dwelling").choice(3, size=meters, p=_DWELLING_SHARE)
        persons = 1 + _pick(_PERSON_SHARE[np.minimum(home, 1)], draws("persons"))
        heating = _pick(_HEATING_SHARE[home], draws("heating"))
        dwelling = np.where(is_shop, _PREMISES, home)
        spread = draws("area").standard_normal(meters)
        area = np.clip(_AREA[dwelling] * (0.75 + 0.11 * persons) * np.exp(0.25 * spread), 10, 2000).astype(np.int64)
        shares = [np.array([habit.share for habit in habits]) for habits in (HOUSEHOLD_HABITS, SHOP_HABITS)]
        habits = [
            draws(f"habit {i}").choice(len(share), size=meters, p=share / share.sum()) for i, share in enumerate(shares)
        ]
        size = draws("size").standard_normal((2, meters))
        idle = np.where(is_shop, 0.45 * np.exp(0.7 * size[0]), 0.07 * persons**0.4 * np.exp(0.4 * size[0]))
        activity = np.where(is_shop, 1.8 * np.exp(0.8 * size[1]), 0.42 * persons**0.55 * np.exp(0.45 * size[1]))
        return cls(
            region,
            is_shop,
            dwelling,
            persons,
            heating,
            area,
            np.where(is_shop, habits[1], habits[0]),
            0.7 * draws("late").standard_normal(meters),
            idle,
            activity,
        )

    def at(self, rows: IntArray) -> _Site:
        """Some of the meters."""
        return _Site(*(getattr(self, field.name)[rows] for field in fields(self)))

    def courses(self, hour: FloatArray, weekend: bool) -> FloatArray:
        """Each meter's activity over the hours of a day, without its height."""
        course = np.zeros((len(self.habit), len(hour)))
        for is_shop, habits in ((False, HOUSEHOLD_HABITS), (True, SHOP_HABITS)):
            for number, habit in enumerate(habits):
                rows = np.flatnonzero((self.is_shop == is_shop) & (self.habit == number))
                own = hour - (0.4 if is_shop else 1.0) * self.late[rows, None]
                for centre, width, height in habit.weekend if weekend else habit.working:
                    away = (own - centre + 12.0) % 24.0 - 12.0
                    course[rows] += height * np.exp(-0.5 * (away / width) ** 2)
        return course

    def warmth(self, temperature: FloatArray, hour: FloatArray | None) -> FloatArray:
        """What electric heating takes, in kW, at the temperature of each region; storage heaters fill up at night."""
        cold = np.maximum(0.0, 15.0 - temperature)[self.region]
        night = 1.0 if hour is None else np.where((hour >= 22) | (hour < 6), 3.0, 0.0)
        need = self.area[:, None] * cold / 1000.0
        return np.where(
            self.heating[:, None] == _HEAT_PUMP,
            0.55 * need,
            np.where(self.heating[:, None] == _STORAGE, 1.3 * need * night, 0.0),
        )


def _days(site: _Site, calendar: Calendar, weather: FloatArray, variable: str, draws: Any) -> FloatArray:
    """Curves over hours or quarters of hours: idle, activity with its noise, single appliances, and heating."""
    hours = np.unique(calendar.hour)
    at = np.searchsorted(hours, calendar.hour)
    course = site.courses(hours, weekend=False)[:, at]
    if calendar.weekend.any():
        course[:, calendar.weekend] = site.courses(hours, weekend=True)[:, at[calendar.weekend]]
    rng = draws(f"{variable} curve")
    meters, length = course.shape
    lively = np.exp(_followed(rng, meters, length, 0.7, 0.35) - 0.06)
    by_day = np.exp(0.18 * rng.standard_normal((meters, int(calendar.day[-1] - calendar.day[0]) + 1)))
    lively *= by_day[:, calendar.day - calendar.day[0]]
    if variable == "water":
        people = np.where(site.is_shop, 2.0, site.persons)[:, None]
        drawn = rng.gamma(0.35, 1.0 / 0.35, size=course.shape)
        return np.asarray(14.0 * people * course * lively * drawn)
    # an oven or a washing machine: rarer when hours are short, and of a few kilowatts
    chance = np.minimum(0.5, 0.16 * course * (24.0 / len(hours)) ** 0.5)
    rows, columns = np.nonzero(rng.random(course.shape) < chance)
    course *= lively
    course *= site.activity[:, None]
    course += site.idle[:, None]
    course[rows, columns] += np.minimum(1.0, site.activity)[rows] * rng.gamma(3.0, 0.35, size=len(rows))
    warmed = np.flatnonzero(site.heating >= _HEAT_PUMP)
    course[warmed] += site.at(warmed).warmth(weather, calendar.hour)
    return np.asarray(course * np.exp(0.05 * rng.standard_normal(course.shape)))


def _months(site: _Site, calendar: Calendar, weather: FloatArray, variable: str, draws: Any) -> FloatArray:
    """Totals of months, from the means of the same curves and the weather of the season."""
    hours = np.arange(24.0)
    daily = (5 * site.courses(hours, weekend=False) + 2 * site.courses(hours, weekend=True)).sum(axis=1) / 7
    rng = draws(f"{variable} totals")
    meters, length = len(daily), len(calendar.names)
    wave = np.exp(_followed(rng, meters, length, 0.5, 0.10))
    away = np.where(rng.random((meters, length)) < 0.03, rng.uniform(0.2, 0.7, (meters, length)), 1.0)
    if variable == "water":
        people = np.where(site.is_shop, 2.0, site.persons)
        return np.asarray(0.42 * (people * daily)[:, None] * (1 - 0.08 * calendar.season()) * wave * away)
    dark = 1 + 0.14 * calendar.season()
    kilowatts = site.idle[:, None] + (site.activity * daily / 24)[:, None] * dark * away
    return np.asarray(30.4 * 24 * wave * (kilowatts + site.warmth(weather, None)))


def _temperature(calendar: Calendar, rng: np.random.Generator) -> FloatArray:
    """The temperature of each region at every time; the weather changes from day to day, in the whole country alike."""
    days = calendar.day - calendar.day[0]
    weather = _followed(rng, 1, int(days[-1]) + 1, 0.8, 3.0)[0]
    if calendar.step == "month":
        weather = np.full(len(weather), 0.0)
    by_hour = 0.0 if calendar.step == "month" else 3.0 * np.cos(2 * np.pi * (calendar.hour - 15) / 24)
    return np.asarray(10.0 - 8.5 * calendar.season() + weather[days] + by_hour + _REGION_COLD[:, None])


def _followed(rng: np.random.Generator, rows: int, length: int, follows: float, spread: float) -> FloatArray:
    """Normal numbers of this standard deviation of which each follows the one before it."""
    drawn = rng.standard_normal((rows, length))
    for t in range(1, length):
        drawn[:, t] = follows * drawn[:, t - 1] + np.sqrt(1 - follows**2) * drawn[:, t]
    return np.asarray(spread * drawn)


def _silence(meters: int, length: int, gaps: float, rng: np.random.Generator) -> BoolArray | None:
    """Where meters have no value: half of the share in short silences, half before late meters were installed."""
    if gaps == 0:
        return None
    at = np.arange(length)
    began = rng.random((meters, length)) < -np.log1p(-gaps / 2) / _SILENCE
    until = np.maximum.accumulate(np.where(began, at + rng.geometric(1 / _SILENCE, (meters, length)), 0), axis=1)
    installed = np.where(rng.random(meters) < gaps, rng.integers(0, length, meters), 0)
    return np.asarray((until > at) | (at < installed[:, None]))


def _pick(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """For every row a column, drawn with the shares of the row."""
    return np.asarray((np.cumsum(shares, axis=1) < rng.random(len(shares))[:, None] * (1 - 1e-12)).sum(axis=1))


def _labels(names: tuple[str, ...], codes: IntArray) -> Any:
    return pa.array(names).take(pa.array(codes))


def _meter_numbers(first: int, meters: int) -> Any:
    numbers = pa.array(np.arange(first + 1, first + meters + 1)).cast(pa.string())
    return pc.binary_join_element_wise("M", pc.utf8_lpad(numbers, 8, "0"), "")


def _check_whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise ParameterError(f"{name} must be a whole number from {low} to {high:,}, got {value!r}")
    return int(value)


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UnknownNameError(name, str(value), allowed)


def _check_variables(variables: Sequence[str]) -> tuple[str, ...]:
    named = (variables,) if isinstance(variables, str) else tuple(variables)
    for name in named:
        _check_choice("variable", name, VARIABLES)
    if not named or len(set(named)) < len(named):
        raise ParameterError("variables must name load or water, or each of them once")
    return named
