"""``budgetron demo``: the default and eight other learners on handwritten digits."""

from budgetron.cli.arguments import Parser, add


def main(argv: list[str]) -> None:
    command = Parser(
        "demo",
        "[--orders N]",
        "Compare the default and eight other learners on handwritten digits.",
        "  budgetron demo --orders 20\n",
    )
    add(command, {"--orders N": "the number of random orders; default 5"}, orders=5)
    args = command.parse_args(argv)
    from budgetron.cli.demo import main as demo

    demo(args.orders)
