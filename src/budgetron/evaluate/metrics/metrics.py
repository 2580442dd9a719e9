"""Metrics: all chosen metrics of a stream."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import expit

from budgetron._util import check
from budgetron._util.choices import CALIBRATED, OF_COUNTS, OF_RANKS, RANKED
from budgetron._util.text import shown
from budgetron.evaluate.metrics import calibration, inputs, ranking
from budgetron.evaluate.metrics.calibration import Calibration
from budgetron.evaluate.metrics.confusion import Confusion
from budgetron.evaluate.metrics.names import checked, quantile_of
from budgetron.evaluate.metrics.one_class import FIRST_ROWS, OneClass
from budgetron.evaluate.metrics.ranking import Ranking, lowest_scores
from budgetron.evaluate.metrics.residuals import Residuals
from budgetron.evaluate.metrics.sums import Array, Rows, Sums, Values, ratio
from budgetron.evaluate.metrics.window import Window


class Metrics:
    """Metrics of predictions on a stream: over all rows so far, and over the last ones.

    The definitions are scikit-learn's. Memory is bounded: it grows with the window and the number of
    classes, not with the rows. The division of the rows into blocks does not change the values by one bit.
    A metric that is undefined, as kappa while there is one class, is None.

    ============================  =======================================================================
    labels
    ============================  =======================================================================
    accuracy, balanced_accuracy   the share of right predictions; its mean over the classes
    f1                            of the second of two classes; of more, the mean over the classes
    kappa                         Cohen's kappa: 0 is a predictor by chance, 1 a perfect one
    kappa_temporal                as kappa, but 0 is the predictor that repeats the label of the row before
    auc                           of more than two classes, the mean over each class against the rest
    log_loss, brier               losses of probabilities
    ece                           expected calibration error, 15 bins of the highest probability
    precision, recall             of the second of two classes; of more, the mean over the classes
    average_precision             the same; the mean precision over the rows of the class, by their score
    precision_at:100              the same; the precision among the 100 rows with the highest scores
    recall:CLASS, ...             these four of a class that is named
    targets
    mae, rmse, r2                 mean absolute error, root of the mean squared error, R^2
    pinball, pinball:0.9          the pinball loss of the median, of the quantile 0.9
    ============================  =======================================================================

    ``log_loss``, ``brier`` and ``ece`` need probabilities. ``auc``, ``average_precision`` and
    ``precision_at`` need probabilities or scores, which they round to 1/16 (see the documentation of
    evaluation). Without them they are None.

    Parameters
    ----------
    names : list of str, optional
        The metrics. The default is a common set: for labels all but ``brier`` and ``ece``, for targets
        ``mae``, ``rmse`` and ``r2``.
    targets : bool
        Whether the rows have targets, not labels.
    window : int
        The number of last rows for `windowed`.
    most_ranked : int, optional
        With more classes than these, metrics that rank rows are no longer computed: they keep 25 kB for
        each class.

    Attributes
    ----------
    names : tuple of str
        The metrics.
    rows : int
        The number of rows so far. Rows of weight 0 do not count.

    Examples
    --------
    >>> from budgetron.evaluate import Metrics
    >>> metrics = Metrics(["accuracy", "kappa", "log_loss"], window=2)
    >>> metrics.update(["no", "yes", "no", "no"], ["no", "yes", "yes", "no"])
    >>> metrics.running()
    {'rate': 0.25, 'accuracy': 0.75, 'kappa': 0.5, 'log_loss': None}
    >>> metrics.windowed()
    {'rate': 0.5, 'accuracy': 0.5, 'kappa': 0.0, 'log_loss': None}
    >>> metrics.recall()
    {'no': 0.6666666666666666, 'yes': 1.0}
    """

    def __init__(
        self,
        names: Iterable[str] | None = None,
        *,
        targets: bool = False,
        window: int = 1000,
        most_ranked: int | None = None,
    ) -> None:
        self.names = checked(names, targets)
        self._of_one_class = {name: asked for name in self.names if (asked := OneClass.named(name))}
        bases = {asked.metric for asked in self._of_one_class.values()}
        self._ranks = not targets and not {*self.names, *bases}.isdisjoint((*RANKED, *OF_RANKS))
        self.targets, self.most_ranked = targets, most_ranked
        self.window = check.count("Metrics", "window", window)
        self.rows = 0
        self._classes: list[Any] = []  # sorted
        self._last = -1  # the class of the last row
        self._given: dict[str, bool] = {}  # whether rows come with probabilities, with scores
        self._sums = self._new_sums()
        self._window = Window(self.window)

    @property
    def mistakes(self) -> int | None:
        """The weight of the wrong predictions, a count if rows have no weights; None for targets."""
        return None if self.targets else self._confusion().mistakes

    @property
    def loss(self) -> float | None:
        """The sum of the squared errors; None for labels."""
        residuals = self._sums.get("residuals")
        return float(residuals.squared[0]) if isinstance(residuals, Residuals) else None

    @property
    def needs_scores(self) -> bool:
        """Whether a metric is computed from scores or probabilities."""
        return self._ranks or (not self.targets and not set(self.names).isdisjoint(CALIBRATED))

    def update(
        self,
        y: Any,
        predicted: Any,
        *,
        classes: Any = None,
        proba: Any = None,
        scores: Any = None,
        weights: Any = None,
    ) -> None:
        """Add rows.

        Parameters
        ----------
        y, predicted : array
            The labels or targets, and their predictions.
        classes : array, optional
            The classes of the columns of ``proba`` and ``scores``. Classes may be added later; a class
            without a column has probability 0.
        proba, scores : array, optional
            Probabilities and scores, one column per class. Scores of two classes may be one column or an
            array of one dimension: the score of the second class.
        weights : array, optional
            The weight of each row.
        """
        y, predicted = np.asarray(y), np.asarray(predicted)
        if y.ndim != 1 or predicted.shape != y.shape:
            raise ValueError(f"Metrics: y has shape {y.shape}, its predictions {predicted.shape}.")
        weight = inputs.weights(weights, len(y))
        counted = weight > 0
        if self.targets:
            rows = _target_rows(y, predicted)
        else:
            rows = self._label_rows(y, predicted, classes, proba, scores, counted)
        rows["weight"] = weight
        if not counted.all():
            rows = {name: column[counted] for name, column in rows.items()}
        for sums in self._sums.values():
            sums.add(rows)
        self.rows += len(rows["weight"])
        self._window.add(rows)

    def running(self) -> Values:
        """The metrics of all rows; "rate" is mistakes per row, or the mean squared error."""
        return self._chosen(self._sums)

    def windowed(self) -> Values:
        """The metrics of the last ``window`` rows."""
        return self._chosen(self._sums_of(True))

    def of_classes(self, first: int = 100, *, windowed: bool = False) -> dict[Any, Values]:
        """Of each class the share of its rows, precision, recall, average precision and precision at k.

        ``first`` is k. With ``windowed`` they are those of the last ``window`` rows.
        """
        sums = self._sums_of(windowed)
        confusion, ranking = self._confusion(sums), sums.get("ranking")
        true, found = confusion.true, dict[Any, Values]()
        for label, weight in zip(self._classes, true.tolist(), strict=True):
            names = {name: OneClass(name, label=str(label)) for name in (*OF_COUNTS, "average_precision")}
            names |= {f"{FIRST_ROWS}:{first}": OneClass(FIRST_ROWS, first, str(label))}
            values = {name: asked.value(self._classes, confusion, ranking) for name, asked in names.items()}  # type: ignore[arg-type]
            found[label] = {"share": ratio(weight, float(true.sum())), **values}
        return found

    @property
    def ranked(self) -> bool:
        """Whether rows are ranked by scores, as curves and average precision need."""
        return "ranking" in self._sums

    def precision_recall(
        self, label: Any = None, *, windowed: bool = False, most: int | None = None
    ) -> dict[str, Array]:
        """The precision and the recall of a class for every threshold, from the highest score down.

        Arrays ``threshold``, ``precision`` and ``recall``; thresholds are probabilities if rows have them.
        The class is by default the second of two. With ``windowed`` the curve is that of the last rows.
        ``most`` is the most points, evenly spaced.
        """
        ranking = self._sums_of(windowed).get("ranking")
        if not isinstance(ranking, Ranking):
            raise ValueError(
                "Metrics: no scores were given, or no metric needs them: add average_precision."
            )
        if label is not None and label not in self._classes:
            raise ValueError(f"Metrics: no row has the label {shown(label)}.")
        place = len(self._classes) - 1 if label is None else self._classes.index(label)
        found, seen = (each[place] for each in ranking.found_and_seen())
        there = np.flatnonzero(np.diff(seen, prepend=0.0) > 0)
        if most is not None and len(there) > most:
            there = there[np.linspace(0, len(there) - 1, most).round().astype(int)]
        scores = lowest_scores()[::-1][there]
        threshold = expit(scores) if self._given["proba"] else scores
        recall = found[there] / max(found[-1], 1e-300)
        return {"threshold": threshold, "precision": found[there] / seen[there], "recall": recall}

    def recall(self) -> dict[Any, float | None]:
        """The share of right predictions among the rows of each class."""
        return dict(zip(self._classes, self._confusion().recall(), strict=True))

    def confusion(self) -> Array | None:
        """The weight of the rows by class (row) and prediction (column); None for more than 50 classes.

        The order of the classes is that of `recall`.
        """
        matrix = self._confusion().matrix
        return matrix.copy() if len(matrix) == len(self._classes) else None

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays."""
        return {
            "names": list(self.names),
            "targets": self.targets,
            "size": self.window,
            "rows": self.rows,
            "classes": list(self._classes),
            "last": self._last,
            "given": self._given or None,
            "sums": {name: sums.state() for name, sums in self._sums.items()},
            "window": {name: column.copy() for name, column in sorted(self._window.rows().items())},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of the same names and window; a ValueError changes nothing."""
        expected = {"names": list(self.names), "targets": self.targets, "size": self.window}
        for name, value in expected.items():
            if state.get(name) != value:
                raise ValueError(f"its metrics have {name} {state.get(name)!r}, expected {value!r}")
        fresh = Metrics(self.names, targets=self.targets, window=self.window, most_ranked=self.most_ranked)
        fresh._restore(state)
        self.__dict__ = vars(fresh)

    def _restore(self, state: Mapping[str, Any]) -> None:
        rows, last, given = state["rows"], state["last"], state["given"]
        classes, window = state["classes"], state["window"]
        if type(rows) is not int or rows < 0 or not inputs.are_classes(classes):
            raise ValueError("its metrics have no count of rows or no sorted classes")
        if type(last) is not int or not -1 <= last < len(classes) + (not classes):
            raise ValueError("the last class of its metrics is unknown")
        flags = {"proba", "scores"}
        if given is not None and (not isinstance(given, dict) or set(given) != flags):
            raise ValueError("its metrics do not say whether there are probabilities")
        self.rows, self._classes, self._last, self._given = rows, classes, last, given or {}
        self._end_ranks(len(classes))
        self._sums = self._new_sums()
        for name, sums in self._sums.items():
            sums.restore(state["sums"][name])
        if window or rows:
            self._check_window(window)
            self._window.add(window)

    def _check_window(self, window: Any) -> None:
        """Check the rows of a state, whose columns must be those that `update` makes."""
        k, numbers, codes = len(self._classes), np.zeros(0), np.zeros(0, dtype=np.intp)
        like = _target_rows(numbers, numbers)
        if not self.targets:
            like = self._columns(codes, codes, np.zeros((0, k)))
        like["weight"] = numbers
        if not isinstance(window, dict) or set(window) != set(like):
            raise ValueError("the window of its metrics has unexpected columns")
        for name, empty in like.items():
            given = window[name]
            shape = (min(self.rows, self.window), *empty.shape[1:])
            if not isinstance(given, np.ndarray) or (given.shape, given.dtype) != (shape, empty.dtype):
                raise ValueError(f"the window of its metrics has no column {name} of shape {shape}")
        limits = {} if self.targets else {"y": k, "predicted": k, "bins": ranking.BINS}
        for name, limit in limits.items():
            if name in window and ((window[name] < 0) | (window[name] >= limit)).any():
                raise ValueError(f"the window of its metrics has a {name} that does not exist")
        if "confidence" in window and not ((window["confidence"] >= 0) & (window["confidence"] <= 1)).all():
            raise ValueError("the window of its metrics has a probability outside 0 to 1")

    def _sums_of(self, windowed: bool) -> dict[str, Sums]:
        """The sums of all rows, or of the last ones."""
        if not windowed:
            return self._sums
        sums, rows = self._new_sums(), self._window.rows()
        for each in sums.values() if rows else ():
            each.add(rows)
        return sums

    def _end_ranks(self, classes: int) -> None:
        """Give up what ranks rows, if there are too many classes for it."""
        if not self._ranks or self.most_ranked is None or classes <= self.most_ranked:
            return
        self._ranks = False
        self._sums.pop("ranking", None)
        self._window.change(lambda rows: {name: rows[name] for name in rows if name != "bins"})

    def _new_sums(self) -> dict[str, Sums]:
        """Sums that have seen no row."""
        if self.targets:
            quantiles = [q for q in map(quantile_of, self.names) if q is not None]
            return {"residuals": Residuals(quantiles)}
        k, given = len(self._classes), self._given
        sums: dict[str, Sums] = {"confusion": Confusion(k)}
        if any(given.values()) and self._ranks:
            sums["ranking"] = Ranking(k)
        if given.get("proba") and not set(self.names).isdisjoint(CALIBRATED):
            sums["calibration"] = Calibration(k)
        return sums

    def _chosen(self, sums: Mapping[str, Sums]) -> Values:
        values = dict(chain.from_iterable(each.values().items() for each in sums.values()))
        for name, asked in self._of_one_class.items():
            values[name] = asked.value(self._classes, sums["confusion"], sums.get("ranking"))  # type: ignore[arg-type]
        return {name: values.get(name) for name in ("rate", *self.names)}

    def _confusion(self, sums: Mapping[str, Sums] | None = None) -> Confusion:
        if self.targets:
            raise ValueError("Metrics: targets have no classes.")
        confusion = (self._sums if sums is None else sums)["confusion"]
        assert isinstance(confusion, Confusion)
        return confusion

    # ---- labels

    def _label_rows(
        self, y: Array, predicted: Array, classes: Any, proba: Any, scores: Any, counted: Array
    ) -> Rows:
        """Checks the arguments, adds new classes, and makes the columns."""
        self._note_what_is_given({"proba": proba is not None, "scores": scores is not None})
        labels = [] if classes is None else np.asarray(classes).tolist()
        name, given = ("scores", scores) if proba is None else ("proba", proba)
        used = given is not None and self.needs_scores
        table = inputs.table(name, given, labels, len(y)) if used else np.zeros((len(y), 0))
        y, predicted = self._codes(inputs.labels(y), inputs.labels(predicted), labels)
        if used:
            places = inputs.places(self._classes, labels)
            table = inputs.widened(table, places, len(self._classes), inputs.EMPTY[name])
        before = np.concatenate([[self._last], y[counted]])
        repeats = np.zeros(len(y), dtype=np.uint8)
        repeats[counted] = before[1:] == before[:-1]
        self._last = int(before[-1])
        return self._columns(y, predicted, table) | {"repeats": repeats}

    def _columns(self, y: Array, predicted: Array, table: Array) -> Rows:
        """The columns of rows; the table has a probability, or else a score, of every class."""
        rows: Rows = {"y": y, "predicted": predicted, "repeats": np.zeros(len(y), dtype=np.uint8)}
        if "ranking" in self._sums:
            rows["bins"] = ranking.bins_of(ranking.log_odds(table) if self._given["proba"] else table)
        if "calibration" in self._sums:
            rows |= calibration.columns(y, y == predicted, table)
        return rows

    def _note_what_is_given(self, given: dict[str, bool]) -> None:
        if not self._given:
            self._given = given
            self._sums = self._new_sums()
        elif self._given != given:
            raise ValueError("Metrics: all rows or none must have probabilities, and likewise scores.")

    def _codes(self, y: Array, predicted: Array, classes: list[Any]) -> tuple[Array, Array]:
        """The labels as places among the classes, to which new ones are added."""
        known = inputs.are_known(self._classes, y) and inputs.are_known(self._classes, predicted)
        if not known or not set(classes) <= set(self._classes):
            self._add_classes([*np.unique(y).tolist(), *np.unique(predicted).tolist(), *classes])
        return inputs.places(self._classes, y), inputs.places(self._classes, predicted)

    def _add_classes(self, labels: list[Any]) -> None:
        check.one_kind("Metrics: y", [*self._classes, *labels])
        merged = sorted({*self._classes, *labels})
        places = inputs.places(merged, self._classes)
        self._end_ranks(len(merged))
        for sums in self._sums.values():
            sums.grow(places, len(merged))
        if self._last >= 0:
            self._last = int(places[self._last])
        self._classes = merged
        self._window.change(lambda rows: _moved(rows, places, len(merged)))


def _moved(rows: Rows, places: Array, classes: int) -> Rows:
    """The rows of a window after classes were added."""
    moved = rows | {name: places[rows[name]] for name in ("y", "predicted")}
    if "bins" in rows:
        moved["bins"] = inputs.widened(rows["bins"], places, classes, 0)
    return moved


def _target_rows(y: Array, predicted: Array) -> Rows:
    return {"y": y.astype(np.float64), "predicted": predicted.astype(np.float64)}
