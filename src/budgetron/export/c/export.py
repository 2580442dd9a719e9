"""A fitted model as a C header."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util.text import shown
from budgetron.export.c.formulas import Formulas
from budgetron.export.c.learning import write_learner
from budgetron.export.c.source import Source
from budgetron.export.formulas.freezing import checked_dtype, freeze, plain_labels
from budgetron.model.fitted import Fitted

KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)


def to_c(model: Any, *, name: str = "model", dtype: npt.DTypeLike = np.float32, learn: bool = False) -> str:
    """The fitted model as one C99 header, which needs nothing but ``math.h`` and allocates nothing.

    The functions of the header, for the name "model":

    * a classifier has ``int model_predict(const model_real *x, model_real *scores)``: the place of the
      label in ``model_labels``, and the scores as of ``decision_function``;
    * ``void model_probabilities(const model_real *scores, model_real *p)``, if there are probabilities;
    * a regressor has ``model_real model_predict(const model_real *x)``.

    With ``learn``, the model is a struct ``model_state``, which starts as ``model_start``. Functions have a
    pointer to it as their first argument. ``int model_learn(model_state *m, const model_real *x, int
    label)`` learns one row; ``label`` is a place in ``model_labels``, or the target ``model_real y``. It
    returns 0, with nothing changed, if a number is too large or not finite.

    Parameters
    ----------
    model : OnlineClassifier or OnlineRegressor
        A fitted model. A model of records takes rows of numbers in C; comments say what each column is.
    name : str
        The prefix of all names in the header.
    dtype : float32 or float64
        The type of all numbers, float or double.
    learn : bool
        Whether the model goes on learning. That is written for kernel learners with the budgets
        :class:`~budgetron.RemoveRandom` (``rbp``), :class:`~budgetron.RemoveOldest`,
        :class:`~budgetron.Stop`, :class:`~budgetron.Forget`, :class:`~budgetron.SampleUniform`
        (``bogd``) and :class:`~budgetron.Project`, and for explicit features that do not learn, with a
        scalar rule (``fogd``) or ``Kalman(covariance="diagonal")``; all of these also inside
        :class:`~budgetron.Standardised`.

    Returns
    -------
    str
        The text of the header.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, rbp, to_c
    >>> model = OnlineClassifier(rbp(Gaussian(1.0), budget=10)).fit([[0.0], [1.0]], ["no", "yes"])
    >>> header = to_c(model, name="door")
    >>> [line for line in header.splitlines() if "door_predict(" in line]
    ['static inline int door_predict(const door_real *x, door_real *scores) {']
    """
    source = Source(_checked_name(name), checked_dtype(dtype))
    formula, fitted = freeze(model)
    if learn:
        if getattr(model, "class_weight", None) is not None:
            raise ValueError(
                "A model with class_weight cannot learn in C, which has no weights: take one without it."
            )
        call = f"{write_learner(source, formula, fitted)}(m, x, f)"
    else:
        call = Formulas(source, fitted.outputs, fitted.model.n_features).call(formula, "x", "x", "f")
    _write_predict(source, fitted, call, "const ${p}_state *m, " if learn else "")
    return _head(source, fitted, shown(model.learner_)) + "".join(source.pieces) + "\n#endif\n"


HEAD = """\
/* A model of budgetron; $what. Written by budgetron $version; do not edit.
 *
 * Learner: $learner
$columns */
#ifndef $guard
#define $guard

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef $real ${p}_real;

enum { ${p}_features = $features, ${p}_outputs = $outputs };
"""
REGRESSION = """
/* The predicted target of the row x. */
static inline ${p}_real ${p}_predict(${state}const ${p}_real *x) {
  ${p}_real f[1];
  $call;
  return f[0];
}
"""
CLASSIFICATION = """
/* The place of the predicted label of the row x in ${p}_labels. The scores are those of the labels; of two
 * labels there is one score, which is positive for the second. */
static inline int ${p}_predict(${state}const ${p}_real *x, ${p}_real *scores) {
  ${p}_real f[$outputs];
  $call;
$order  return $label;
}
"""
PROBABILITIES = """
/* The probabilities of the labels, from their scores. */
static inline void ${p}_probabilities(const ${p}_real *scores, ${p}_real *p) {
$body}
"""
SOFTMAX = """\
  ${p}_real top = scores[0], sum = 0;
  for (int c = 1; c < $outputs; ++c) top = scores[c] > top ? scores[c] : top;
  for (int c = 0; c < $outputs; ++c) sum += p[c] = $exp(scores[c] - top);
  for (int c = 0; c < $outputs; ++c) p[c] /= sum;
"""


def _head(source: Source, fitted: Fitted, learner: str) -> str:
    """The comment, the types and the labels."""
    from budgetron import __version__

    what = "a regressor" if fitted.labels is None else f"a classifier of {len(fitted.labels)} labels"
    text = source.text(
        HEAD,
        what=what,
        version=__version__,
        learner=_comment(learner),
        columns=_columns(fitted),
        guard=f"BUDGETRON_{source.prefix}_H",
        features=fitted.model.n_features,
        outputs=fitted.outputs,
    )
    return text if fitted.labels is None else text + _labels(source, fitted.labels.classes)


def _columns(fitted: Fitted) -> str:
    names = fitted.names if fitted.encoding is None else fitted.encoding.columns[: fitted.model.n_features]
    if names is None or not len(names):
        return ""
    listed = "".join(f" *   x[{j}]: {_comment(str(name))}\n" for j, name in enumerate(names))
    return f" *\n * Columns of a row:\n{listed}"


def _comment(text: str) -> str:
    """The text without what would end a comment, and without trigraphs, in ASCII."""
    apart = re.sub(r"\?(?=\?)", "? ", ascii(text)[1:-1])
    return apart.replace("*/", "* /").replace("/*", "/ *")


def _labels(source: Source, classes: npt.NDArray[Any]) -> str:
    kind, values = _label_values(classes)
    p, count = source.prefix, len(values)
    return f"enum {{ {p}_classes = {count} }};\n{kind}{p}_labels[{count}] = {{{', '.join(values)}}};\n"


def _label_values(classes: npt.NDArray[Any]) -> tuple[str, list[str]]:
    """The declaration of the labels, and their values."""
    labels = plain_labels(classes)
    if labels.dtype == object:
        return "static const char *const ", [_c_text(label) for label in labels.tolist()]
    if labels.dtype == np.float64:
        return "static const double ", [repr(label) for label in labels.tolist()]
    numbers = [int(label) for label in labels.tolist()]
    return "static const long long ", [f"{n}LL" if n > -(2**63) else f"{n + 1}LL - 1" for n in numbers]


def _c_text(text: str) -> str:
    """A C string: plain ASCII as it is, other bytes of UTF-8 in octal."""
    plain = {*range(32, 127)} - {ord(c) for c in '"\\\\?'}
    codes = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in codes) + '"'


def _write_predict(source: Source, fitted: Fitted, call: str, state: str) -> None:
    """The functions that a user calls for predictions."""
    state = source.text(state)
    if fitted.labels is None:
        source.add(REGRESSION, state=state, call=call)
        return
    order, count, outputs = fitted.labels.order.tolist(), len(fitted.labels), fitted.outputs
    if count <= 2:
        sign = "" if fitted.labels.is_sorted else "-"
        text = f"  scores[0] = {sign}f[0];\n"
        label = "0" if count == 1 else "f[0] >= 0" if fitted.labels.is_sorted else "!(f[0] >= 0)"
    else:
        text, label = "".join(f"  scores[{i}] = f[{code}];\n" for i, code in enumerate(order)), "best"
        places = ", ".join(str(order.index(code)) for code in range(count))
        text += f"  static const int places[{count}] = {{{places}}};\n  int best = 0;\n"
        text += f"  for (int c = 1; c < {count}; ++c) best = f[c] > f[best] ? c : best;\n"
        label = "places[best]"
    source.add(CLASSIFICATION, state=state, call=call, outputs=outputs, order=text, label=label)
    if fitted.model.learner.probabilistic:
        two = source.text("  p[1] = 1 / (1 + $exp(-scores[0]));\n  p[0] = 1 / (1 + $exp(scores[0]));\n")
        one = "  (void)scores;\n  p[0] = 1;\n"
        body = source.text(SOFTMAX, outputs=outputs) if count > 2 else two if count == 2 else one
        source.add(PROBABILITIES, body=body)


def _checked_name(name: Any) -> str:
    if (
        not isinstance(name, str)
        or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        or f" {name} " in f" {KEYWORDS} "
    ):
        raise ValueError(
            f"name must be a C identifier that begins with a letter, such as 'model', got {shown(name)}."
        )
    return name
