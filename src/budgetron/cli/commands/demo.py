"""``budgetron demo``: compare ten learners on handwritten digits."""

from budgetron.cli.arguments import Parser, whole


def main(argv: list[str]) -> None:
    made = Parser(
        "demo",
        "[--orders N]",
        "Compare ten learners on handwritten digits.",
        "  budgetron demo --orders 5\n",
    )
    made.add_argument(
        "--orders", type=whole(1), default=20, metavar="N", help="the number of random orders; default 20"
    )
    args = made.parse_args(argv)
    from budgetron.demo import main as demo

    demo(args.orders)
