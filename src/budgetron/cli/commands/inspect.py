"""``budgetron inspect``: show the contents of a model file, without building the model."""

from typing import Any

from budgetron._util.text import aligned
from budgetron.cli import output
from budgetron.cli.arguments import MODEL, Parser, add
from budgetron.model.files import model_files
from budgetron.model.files.model_files import ModelFile

LONGEST = 100
SHORT = str | int | float | None


def main(argv: list[str]) -> None:
    command = Parser(
        "inspect",
        "MODEL [--json]",
        "Show the contents of a model file: the learner, the labels, the run and the arrays.",
        "  budgetron inspect model\n  budgetron inspect model --json | jq .fitted\n",
    )
    add(command, MODEL | {"--json": "print a JSON document of everything but the numbers in the arrays"})
    args = command.parse_args(argv)
    file = model_files.read(args.model)
    print(output.document(_document(file)) if args.json else _text(file))


def _document(file: ModelFile) -> dict[str, Any]:
    arrays = {
        name: {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": array.nbytes}
        for name, array in sorted(file.arrays.items())
    }
    value = {key: file.description[key] for key in ("estimator", "fitted", "extra")}
    return {"file": file.path, "budgetron_version": file.budgetron_version, **value, "arrays": arrays}


def _text(file: ModelFile) -> str:
    fitted, extra = (_members(file.description[key]) for key in ("fitted", "extra"))
    run = _members(extra.get("run"))
    rows = [["file", ascii(file.path)[1:-1]], ["budgetron", _code(file.budgetron_version)[1:-1]]]
    rows += [["estimator", _code(file.description["estimator"])], ["learner", _code(fitted.get("learner"))]]
    rows += [[name, _code(fitted.get(name))] for name in ("n_features_in", "dtype", "seed")]
    rows += [["classes", _classes(fitted.get("classes"), file)]]
    rows += [["encoding", _encoding(fitted["encoding"])]] if "encoding" in fitted else []
    short = {name: value for name, value in sorted(run.items()) if isinstance(value, SHORT)}
    rows += [[_code(name)[1:-1], _code(value)] for name, value in short.items()]
    steps = run["steps"] if isinstance(run.get("steps"), list) else []
    rows += [["step", _code(step["what"])] for step in map(_members, steps) if "what" in step]
    rows += [["extra", _code(name)[1:-1]] for name in sorted(set(extra) - {"run"})]
    arrays = [["arrays", "dtype", "shape", "bytes"]]
    for name, array in sorted(file.arrays.items()):
        arrays.append([_code(name)[1:-1], array.dtype.name, str(array.shape), str(array.nbytes)])
    return "\n".join([*aligned(rows, left=2), "", *(f"  {line}" for line in aligned(arrays))])


def _members(value: Any) -> dict[str, Any]:
    """The value if it is an object; a forged file may have anything in its place."""
    return value if isinstance(value, dict) else {}


def _classes(value: Any, file: ModelFile) -> str:
    labels = file.arrays.get("classes")
    if value == "numbers" and labels is not None and labels.ndim == 1:
        return _cut(", ".join(output.label(value) for value in labels.tolist()))
    if value == "text" and labels is not None:
        try:
            return _cut(", ".join(ascii(str(text))[1:-1] for text in model_files.from_code_points(labels)))
        except ValueError:
            return "strings that cannot be read"
    return _code(value)


def _encoding(value: Any) -> str:
    """How records become rows of numbers."""
    try:
        encoding = model_files.revived_encoding(value)
    except (ValueError, TypeError, KeyError):
        return "an encoder that cannot be read"
    return _cut(ascii(encoding.describe())[1:-1])


def _code(value: Any) -> str:
    """A description as Python code, with control characters escaped."""
    if isinstance(value, dict):
        parts = (f"{ascii(key)[1:-1]}={_code(part)}" for key, part in value.items() if key != "type")
        return f"{ascii(value.get('type', 'dict'))[1:-1]}({', '.join(parts)})"
    if isinstance(value, list):
        return _cut("[" + ", ".join(map(_code, value[:LONGEST])) + "]")
    return _cut(ascii(value))


def _cut(text: str) -> str:
    return text if len(text) <= 4 * LONGEST else text[: 4 * LONGEST] + " ..."
