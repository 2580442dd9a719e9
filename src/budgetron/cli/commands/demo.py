"""``budgetron demo``: the default and eight other learners on handwritten digits."""

from budgetron.cli.arguments import Parser, whole


def main(argv: list[str]) -> None:
    made = Parser(
        "demo",
        "[--orders N]",
        "Compare the default and eight other learners on handwritten digits.",
        "  budgetron demo --orders 20\n",
    )
    made.add_argument(
        "--orders", type=whole(1), default=5, metavar="N", help="the number of random orders; default 5"
    )
    args = made.parse_args(argv)
    from budgetron.cli.demo import main as demo

    demo(args.orders)
