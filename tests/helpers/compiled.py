"""Headers that are compiled with the system's C compiler, and called from Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

REGRESSOR = """
void NAME_all(const NAME_real *x, long n, NAME_real *out) {
  for (long i = 0; i < n; ++i) out[i] = NAME_predict(x + i * NAME_features);
}
"""
CLASSIFIER = """
void NAME_all(const NAME_real *x, long n, NAME_real *out, int *label, NAME_real *p) {
  for (long i = 0; i < n; ++i) {
    label[i] = NAME_predict(x + i * NAME_features, out + i * NAME_outputs);
    PROBABILITIES
  }
}
"""
LEARNER = """
long NAME_run(const NAME_real *x, const TARGET *y, long n, NAME_real *out, int *label) {
  NAME_state m = NAME_start;
  long done = 0;
  for (long i = 0; i < n; ++i) {
    PREDICT;
    done += NAME_learn(&m, x + i * NAME_features, y[i]);
  }
  (void)label;
  return done;
}
long NAME_bytes(void) { return (long)sizeof(NAME_state); }
"""


def predicting(name, model):
    """A C function that predicts many rows."""
    if not hasattr(model, "classes_"):
        return REGRESSOR.replace("NAME", name)
    shares = "NAME_probabilities(out + i * NAME_outputs, p + i * NAME_classes);"
    shares = shares if hasattr(model, "predict_proba") else "(void)p;"
    return CLASSIFIER.replace("PROBABILITIES", shares).replace("NAME", name)


def learning(name, model):
    """A C function that predicts each row, then learns it."""
    labels = hasattr(model, "classes_")
    row = "&m, x + i * NAME_features"
    predict = (
        f"label[i] = NAME_predict({row}, out + i * NAME_outputs)"
        if labels
        else f"out[i] = NAME_predict({row})"
    )
    text = LEARNER.replace("PREDICT", predict).replace("TARGET", "int" if labels else "NAME_real")
    return text.replace("NAME", name)


def library(folder, headers, functions):
    """The loaded library of some headers, by name, and of functions that call them."""
    for name, header in headers.items():
        (folder / f"{name}.h").write_text(header)
    includes = "".join(f'#include "{name}.h"\n' for name in headers)
    source = folder / f"{'_'.join([*headers][:1])}_{len(list(folder.glob('*.so')))}.c"
    source.write_text(includes + "".join(functions))
    made = source.with_suffix(".so")  # a new name each time: a loaded file must not change
    compiled(source, made, "-O0", "-ffp-contract=off", "-fPIC", "-shared", "-lm")
    return ctypes.CDLL(str(made))


def compiled(source, out, *flags):
    """Compile strictly; a warning is an error, which is shown."""
    done = subprocess.run(
        [COMPILER, *STRICT, str(source), "-o", str(out), *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]


def pointer(values):
    """The address of an array's numbers."""
    return values.ctypes.data_as(ctypes.c_void_p)


def predicted(functions, name, model, X, dtype):
    """Labels (None in regression), scores and probabilities of the rows, computed in C."""
    x = np.ascontiguousarray(X, dtype=dtype)
    outputs = model.fitted_.model.task.outputs
    scores = np.zeros((len(x), outputs), dtype)
    if not hasattr(model, "classes_"):
        getattr(functions, f"{name}_all")(pointer(x), ctypes.c_long(len(x)), pointer(scores))
        return None, scores.ravel(), None
    places, shares = np.zeros(len(x), np.int32), np.zeros((len(x), len(model.classes_)), dtype)
    arrays = map(pointer, (scores, places, shares))
    getattr(functions, f"{name}_all")(pointer(x), ctypes.c_long(len(x)), *arrays)
    return model.classes_[places], scores.ravel() if outputs == 1 else scores, shares
