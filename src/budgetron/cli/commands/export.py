"""``budgetron export``: write a saved model as C or ONNX."""

import os
import re

from budgetron.cli.arguments import MODEL, Parser, add
from budgetron.cli.process import UsageError, say
from budgetron.model.files import durable, model_files

EXAMPLES = """\
  budgetron export model --format c -o model.h
  budgetron export model --format c --learn --dtype float64 -o sensor.h
  budgetron export model --format onnx -o model.onnx
"""
C_FLAGS = {
    "--name NAME": "C: the prefix of all names; default the name of the file without its ending",
    "--learn": "C: the model goes on learning on the device",
}
NUMBERS = {"c": "float32", "onnx": "float64"}


def main(argv: list[str]) -> None:
    command = Parser(
        "export",
        "MODEL --format c|onnx -o FILE [FLAGS]",
        "Write a saved model as a C99 header without dependencies, or as an ONNX graph of plain operators.",
        EXAMPLES,
    )
    add(command, MODEL)
    command.add_argument("--format", choices=("c", "onnx"), required=True, help="what to write")
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    about = "the type of all numbers; default float32 for C, float64 for ONNX"
    command.add_argument("--dtype", choices=("float32", "float64"), help=about)
    add(command, C_FLAGS)
    args = command.parse_args(argv)
    if args.format == "onnx" and (args.learn or args.name is not None):
        raise UsageError(f"{'--learn' if args.learn else '--name'} is only for --format c.")
    file = model_files.read(args.model)
    model, dtype = file.estimator(), args.dtype or NUMBERS[args.format]
    if args.format == "c":
        from budgetron.export.c import to_c

        name = _name_of(args.output) if args.name is None else args.name
        content = to_c(model, name=name, dtype=dtype, learn=args.learn).encode("ascii")
    else:
        from budgetron.export.onnx import to_onnx

        content = to_onnx(model, dtype).SerializeToString()
    durable.write(args.output, [content])
    say(f"wrote {args.output}.")


def _name_of(path: str) -> str:
    """The name of the file as a C identifier."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", os.path.splitext(os.path.basename(path))[0])
    return name if name[:1].isalpha() else f"model_{name}"
