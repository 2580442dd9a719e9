"""Errors on messy tables as they are, divided by those on the same tables prepared by hand.

Run as ``python -m benchmarks.messy_tables [TABLE ...] [--seeds 0,1]``. A table is a CSV file with dates,
money, percent, words for nothing, free text, identifiers, a late column and missing labels, of which only
the target is named. By hand, a person who knows the columns prepares them with the transformers of
scikit-learn, fitted on all rows. In both, the default learner predicts each row that has a label, and then
learns it. Look at ``DEVELOPED`` to mend something; ``HELD`` are for the check afterwards.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import io
import os
import random
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from budgetron import OnlineClassifier, OnlineRegressor, streams
from budgetron._util.text import aligned

ROWS = 3000
PERIODS = {"day": 86400.0, "week": 7 * 86400.0, "year": 365.2425 * 86400.0}
MONDAY = dt.datetime(1970, 1, 5)
SYLLABLES = "bacedifogulamenoporusatevíwozukáleßnotü"


class LeftOut(str):
    """A cell that a person would not use."""


class Blank(str):
    """The word for a number that is missing."""


Number = tuple[float, str] | Blank
Sentence = list[str]


@dataclass
class Made:
    """The cells of a table with their labels, and what a person makes of them."""

    periods: tuple[str, ...]
    y: list[Any] = field(default_factory=list)
    cells: list[dict[str, str]] = field(default_factory=list)
    dates: list[dt.datetime] = field(default_factory=list)
    columns: dict[type, dict[str, list[Any]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, y: Any, when: dt.datetime, form: str, **cells: Number | Sentence | str) -> None:
        """Add a row: numbers are pairs of value and text, sentences lists of words, others categories."""
        self.y.append(y)
        self.dates.append(when)
        texts = {"when": format(when, form)}
        for name, cell in cells.items():
            value: Any = cell
            if isinstance(cell, tuple | Blank):
                value, texts[name] = (np.nan, str(cell)) if isinstance(cell, Blank) else cell
            else:
                value = texts[name] = " ".join(cell) if isinstance(cell, list) else str(cell)
            kind = tuple if isinstance(cell, Blank) else type(cell)
            self.columns[kind].setdefault(name, []).append(value)
        self.cells.append(texts)

    def by_hand(self) -> Any:
        """The rows as numbers, prepared with the transformers of scikit-learn."""
        numbers, categories, texts = (self.columns[kind] for kind in (tuple, str, list))
        steps: list[Any] = [(make_pipeline(SimpleImputer(), StandardScaler()), [*numbers])]
        one_hot = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
        steps += [(one_hot, [*categories])] if categories else []
        steps += [(CountVectorizer(binary=True, min_df=3), name) for name in texts]
        frame = pd.DataFrame({**numbers, **categories, **texts})
        X = make_column_transformer(*steps, sparse_threshold=0).fit_transform(frame)
        seconds = np.array([(when - MONDAY).total_seconds() for when in self.dates])
        angles = [2 * np.pi * seconds / PERIODS[period] for period in self.periods]
        return np.column_stack([X, *map(np.sin, angles), *map(np.cos, angles)])

    def csv(self) -> io.BytesIO:
        """The table as a CSV file, of which every 40th label is missing."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [*self.cells[0], "y"])
        writer.writeheader()
        for row, y, there in zip(self.cells, self.y, self.labelled, strict=True):
            writer.writerow({**row, "y": y if there else ""})
        return io.BytesIO(text.getvalue().encode())

    @property
    def labelled(self) -> Any:
        """Which rows have a label."""
        return np.arange(len(self.y)) % 40 != 7


class Draw(random.Random):
    """Draws cells."""

    def words(self, n: int) -> list[str]:
        """A vocabulary."""
        pairs = [SYLLABLES[i : i + 2] for i in range(0, len(SYLLABLES) - 1, 2)]
        return sorted({"".join(self.choices(pairs, k=self.randint(2, 3))) for _ in range(n)})

    def sentence(self, words: list[str], least: int, most: int) -> Sentence:
        """Some words, the first of the vocabulary more often."""
        return [words[int(len(words) * self.random() ** 2)] for _ in range(self.randint(least, most))]

    def uuid(self) -> LeftOut:
        return LeftOut(uuid.UUID(int=self.getrandbits(128)))

    def weights(self, names: list[str], size: float) -> dict[str, float]:
        return {name: self.gauss(0, size) for name in names}

    def number(self, value: float, text: str, blank: str, share: float = 0.05) -> Number:
        """A number that is missing in a share of the rows."""
        return Blank(blank) if self.random() < share else (value, text)


def value_of(number: Number, otherwise: float) -> float:
    return otherwise if isinstance(number, Blank) else number[0]


def truth(value: bool, words: tuple[str, str]) -> Number:
    return float(value), words[not value]


def european(value: float) -> str:
    """1.234,50"""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def loans(seed: int) -> Made:
    """Loans: dd/mm/yyyy, dollars, percent, N/A, a title of some words, and a score that comes late."""
    draw, made, when = Draw(seed), Made(("week", "year")), dt.datetime(2021, 3, 1)
    words, purposes = draw.words(150), [f"purpose {c}" for c in "ABCDEFGHIJ"]
    weight, effect = draw.weights(words, 0.7), draw.weights(purposes, 0.8)
    for i in range(ROWS):
        when += dt.timedelta(hours=draw.randint(1, 12))
        dollars, rate, points = draw.lognormvariate(8.2, 0.5), draw.uniform(4, 24), draw.gauss(680, 40)
        income = draw.number(dollars, f"${dollars:,.2f}", "N/A", 0.08)
        score: Number = (points, f"{points:.0f}") if i > ROWS // 4 else Blank("")
        purpose, term, years = draw.choice(purposes), draw.choice(["36", "60"]), draw.randint(0, 30)
        title = draw.sentence(words, 3, 7)
        z = 0.15 * (rate - 14) + effect[purpose] + sum(weight[w] for w in title) + 0.8 * (term == "60")
        z -= 0.02 * (value_of(score, 680) - 680) + 1.5 * (np.log(value_of(income, 3600)) - 8.2)
        made.add(
            "bad" if z + draw.gauss(0, 0.8) > 0.5 else "good", when, "%d/%m/%Y", id=draw.uuid(),
            income=income, rate=(rate, f"{rate:.2f}%"), term=f"{term} months", purpose=purpose,
            years=(years, str(years)), title=title, score=score,
        )  # fmt: skip
    return made


def tickets(seed: int) -> Made:
    """Tickets of four teams: moments with a zone, subjects of many words, codes of customers."""
    draw, made, when = Draw(seed), Made(("day", "week")), dt.datetime(2024, 5, 1)
    words, products, teams = (
        draw.words(500),
        [f"model {i}" for i in range(7)],
        ["pay", "repair", "sales", "-"],
    )
    weight, favour = ([draw.weights(names, 1.1) for _ in teams] for names in (words, products))
    for _ in range(ROWS):
        when += dt.timedelta(minutes=draw.expovariate(1 / 25))
        subject, product, urgent = draw.sentence(words, 4, 10), draw.choice(products), draw.random() < 0.3
        waited = draw.expovariate(0.1)
        scores = [sum(weight[k][w] for w in subject) + favour[k][product] for k in range(len(teams))]
        scores[1] += 1.5 * urgent
        scores[2] += 1.0 * (9 <= when.hour < 17) - 0.05 * waited
        made.add(
            teams[int(np.argmax([score + draw.gauss(0, 0.7) for score in scores]))].replace("-", "other"),
            when, "%Y-%m-%dT%H:%M:%SZ", customer=LeftOut(f"C-{draw.randrange(10**6):06}"), subject=subject,
            product=product, urgent=truth(urgent, ("yes", "no")), waited=(waited, f"{waited:.1f}"),
        )  # fmt: skip
    return made


def meters(seed: int) -> Made:
    """Energy by the hour: dd.mm.yyyy, decimal commas, percent, a dash for nothing, a late column."""
    draw, made, when = Draw(seed), Made(("day", "week", "year")), dt.datetime(2022, 10, 3)
    base, t = {f"hall {c}": draw.uniform(20, 80) for c in "NSEW"}, 10.0
    for i in range(ROWS):
        when += dt.timedelta(hours=draw.choice([1, 1, 1, 2, 12]))
        t += draw.gauss(0, 1) - 0.1 * (t - 10 + 8 * np.cos(2 * np.pi * when.timetuple().tm_yday / 365))
        hall, wet, sun = draw.choice([*base]), draw.randint(20, 95), draw.uniform(0, 9)
        humidity = draw.number(wet, f"{wet} %", "-")
        solar: Number = (sun, european(sun)) if i > ROWS // 3 else Blank("")
        is_open = 7 <= when.hour < 19 and when.weekday() < 5
        y = base[hall] * (1 + 0.6 * is_open) + 2 * max(0.0, 15 - t) + 0.1 * wet - value_of(solar, 4)
        made.add(
            round(y + draw.gauss(0, 4), 2), when, "%d.%m.%Y %H:%M", hall=hall, temperature=(t, european(t)),
            humidity=humidity, solar=solar, note=LeftOut("new sensor" if draw.random() < 0.02 else ""),
        )  # fmt: skip
    return made


def approval(seed: int) -> Made:
    """Real: polls on a president, of river, as dd/mm/yyyy and percent. The seed says which are missing."""
    from river.datasets import TrumpApproval

    draw, made = Draw(seed), Made(("week", "year"))
    for x, y in TrumpApproval():
        when = dt.datetime.fromordinal(int(x.pop("ordinal_date")))
        polls = {name: draw.number(value, f"{value:.2f} %", "N/A") for name, value in x.items()}
        made.add(y, when, "%d/%m/%Y", id=draw.uuid(), **polls)
    return made


def listings(seed: int) -> Made:
    """Homes: names of months, euros, truth words, telephones, a description, a late column."""
    draw, made, when = Draw(seed), Made(("week", "year")), dt.datetime(2020, 1, 5)
    words, districts = draw.words(200), [f"district {i}" for i in range(24)]
    weight, level = draw.weights(words, 9), draw.weights(districts, 60)
    for i in range(ROWS):
        when += dt.timedelta(hours=draw.randint(1, 16))
        area, count, furnished = draw.uniform(25, 160), draw.randint(1, 6), draw.random() < 0.4
        district, text, fee = (
            draw.choice(districts),
            draw.sentence(words, 5, 12),
            draw.lognormvariate(6, 0.6),
        )
        used = draw.uniform(30, 250)
        energy: Number = (used, f"{used:.0f}") if i > ROWS // 5 else Blank("")
        y = 3.1 * area + level[district] + 25 * count + 40 * furnished + sum(weight[w] for w in text)
        made.add(
            round(y - 0.3 * value_of(energy, 140) + draw.gauss(0, 20), 1), when, "%b %d, %Y",
            phone=LeftOut(f"+49 {draw.randint(30, 999)} {draw.randint(10**6, 10**7 - 1)}"),
            area=(area, f"{area:.1f}"), rooms=draw.number(count, str(count), "n/a"), district=district,
            furnished=truth(furnished, ("Yes", "No")), fee=(fee, f"{european(fee)} €"), energy=energy,
            description=text,
        )  # fmt: skip
    return made


def transfers(seed: int) -> Made:
    """Three kinds of transfers: 03 Jan 2024, negative sums in brackets, accounts, a short purpose."""
    draw, made, when = Draw(seed), Made(("week", "year")), dt.datetime(2022, 6, 1)
    words, channels, kinds = (
        draw.words(300),
        ["branch", "app", "web"],
        ["private", "business", "suspicious"],
    )
    weight, favour = ([draw.weights(names, 1.2) for _ in kinds] for names in (words, channels))
    for _ in range(ROWS):
        when += dt.timedelta(hours=draw.randint(0, 8))
        amount, left = draw.gauss(0, 1) * draw.lognormvariate(5, 1), draw.lognormvariate(8, 1)
        channel, foreign, purpose = draw.choice(channels), draw.random() < 0.2, draw.sentence(words, 2, 5)
        scores = [sum(weight[k][w] for w in purpose) + favour[k][channel] for k in range(len(kinds))]
        scores[1] += np.log1p(abs(amount)) - 4 + (when.weekday() < 5)
        scores[2] += 1.5 * foreign + (amount < -100) - 0.8
        made.add(
            kinds[int(np.argmax([score + draw.gauss(0, 0.6) for score in scores]))], when, "%d %b %Y",
            account=LeftOut(f"DE{draw.randrange(10**18):020}"), channel=channel, purpose=purpose,
            amount=(amount, f"({-amount:,.2f})" if amount < 0 else f"{amount:,.2f}"),
            balance=draw.number(left, f"EUR {left:,.2f}", "null"),
            foreign=truth(foreign, ("TRUE", "FALSE")),
        )  # fmt: skip
    return made


def visits(seed: int) -> Made:
    """Visits of a page, of which some buy: zones, 60 paths, mostly no referrer, a late language."""
    draw, made, when = Draw(seed), Made(("day", "week")), dt.datetime(2024, 2, 1)
    paths, browsers = (
        [f"/{a}/{b}" for a in "abcdef" for b in range(10)],
        ["Firefox", "Chrome", "Safari", "Edge"],
    )
    sites = [f"site{i}.example" for i in range(12)]
    appeal, taste, pull = draw.weights(paths, 1.5), draw.weights(browsers, 0.6), draw.weights(sites, 1)
    for i in range(ROWS):
        when += dt.timedelta(minutes=draw.expovariate(1 / 12))
        path, browser, seconds = draw.choice(paths), draw.choice(browsers), draw.lognormvariate(4, 1)
        pages, site = draw.randint(1, 20), draw.choice(sites) if draw.random() < 0.4 else ""
        language = draw.choice(["de", "fr", "en", "es"]) if i > ROWS // 3 else ""
        z = appeal[path] + taste[browser] + np.log(seconds) - 4 + 0.1 * (pages - 10) + pull.get(site, 0)
        z += (language == "fr") + (18 <= when.hour < 23) - 1.5 + draw.gauss(0, 0.7)
        made.add(
            "buys" if z > 0 else "leaves", when, "%Y-%m-%d %H:%M:%S+00:00", path=path, browser=browser,
            address=LeftOut(f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}"),
            seconds=draw.number(seconds, f"{seconds:.0f}", "?"), pages=(pages, str(pages)), referrer=site,
            language=language,
        )  # fmt: skip
    return made


def machines(seed: int) -> Made:
    """Hours until a repair: mm/dd/yyyy with AM and PM, codes with leading zeros, rare remarks, serials."""
    draw, made, when = Draw(seed), Made(("day", "week")), dt.datetime(2023, 1, 2)
    codes, words = [f"{draw.randrange(1000):04}" for _ in range(25)], draw.words(60)
    hours, weight = draw.weights(codes, 12), draw.weights(words, 6)
    for _ in range(ROWS):
        when += dt.timedelta(minutes=draw.randint(20, 240))
        code, pressure, shake, load = (
            draw.choice(codes),
            draw.gauss(5, 1),
            draw.expovariate(1),
            draw.randint(0, 100),
        )
        remark = draw.sentence(words, 3, 8) if draw.random() < 0.4 else []
        y = 50 + hours[code] + 4 * abs(pressure - 5) - 6 * np.log1p(shake) + 0.1 * load
        y += sum(weight[w] for w in remark) + 8 * (when.hour >= 20 or when.hour < 6) + draw.gauss(0, 3)
        made.add(
            round(y, 2), when, "%m/%d/%Y %I:%M %p", serial=LeftOut(f"SN{draw.randrange(16**10):010X}"),
            code=code, pressure=(pressure, f"{pressure:.2f}"), load=(load, f"{load}%"), remark=remark,
            vibration=draw.number(shake, f"{shake:.3f}", "--"),
        )  # fmt: skip
    return made


def flares(seed: int) -> Made:
    """Real: flares of the sun, of river, as words and numbers. The seed decides the order."""
    from river.datasets import SolarFlare

    draw, made, rows = Draw(seed), Made(("week", "year")), list(SolarFlare())
    draw.shuffle(rows)
    for i, (x, y) in enumerate(rows):
        cells = {k: v if isinstance(v, str) else (float(v), str(v)) for k, v in x.items()}
        when = dt.datetime(2010, 1, 1) + dt.timedelta(hours=8 * i)
        made.add("flare" if any(y.values()) else "quiet", when, "%d/%m/%Y", id=draw.uuid(), **cells)
    return made


DEVELOPED: list[Callable[[int], Made]] = [loans, tickets, meters, approval]
HELD: list[Callable[[int], Made]] = [listings, transfers, visits, machines, flares]


def error(blocks: Iterator[tuple[Any, Any]], classes: Any) -> float:
    """The share of wrong labels, or the mean absolute error, of rows predicted and then learned."""
    misses = list[Any]()
    model: Any = OnlineRegressor(random_state=0) if classes is None else OnlineClassifier(random_state=0)
    for X, y in blocks:
        if classes is None:
            misses.append(np.abs(model.progressive_predict(X, y) - y))
        else:
            misses.append(model.progressive_predict(X, y, classes=classes) != y)
    return float(np.mean(np.concatenate(misses)))


def errors(made: Made) -> tuple[float, float]:
    """The error of the table as it is, and of the same prepared by hand."""
    y = np.array(made.y)[made.labelled]
    classes = sorted(set(y)) if isinstance(made.y[0], str) else None

    def rows() -> Iterator[tuple[Any, Any]]:
        for block in streams.table(made.csv(), target="y"):
            there = np.flatnonzero(np.isfinite(block.y) if classes is None else block.y != "")
            yield block.X[there], block.y[there]

    return error(rows(), classes), error(iter([(made.by_hand()[made.labelled], y)]), classes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", help="default: all")
    parser.add_argument("--seeds", default="0,1", help="default: 0,1")
    given = parser.parse_args()
    table = [["table", "seed", "as it is", "by hand", "ratio"]]
    for make in [*DEVELOPED, *HELD]:
        for seed in map(
            int, given.seeds.split(",") if make.__name__ in given.tables or not given.tables else ()
        ):
            ours, by_hand = errors(make(seed))
            table.append(
                [make.__name__, str(seed), f"{ours:.4f}", f"{by_hand:.4f}", f"{ours / by_hand:.3f}"]
            )
            print(*table[-1], file=sys.stderr, flush=True)
    print("\n".join(aligned(table)))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
