"""Every flag of ``run`` is repeated by a resumed run, or may differ: nobody can forget to decide."""

from dataclasses import fields

from budgetron.cli.checkpoint import ROLES, Origin
from budgetron.cli.commands.run import parser
from budgetron.cli.learners import PREFIX

COMPARED = {
    *("delay", "seed", "regression", "classes", "metrics", "window", "cost", "threshold", "coverage"),
    *("column", "most_columns", "most_values"),
}
"""By `checkpoint.restored`: with the estimator, or with the state of the session."""
STEPS = {"shuffle", "dense", "standardise", "min_max", "no_scaling"}
"""Compared as transforms, or as a part of the learner."""
MAY_DIFFER = {
    *("features", "delimiter", "on_error", "rows", "until_end", "block", "verbose"),  # rows have a checksum
    *("jobs", "every", "json", "predictions", "save", "checkpoint_every", "resume"),
}


def test_every_flag_has_a_place():
    flags = {action.dest for action in parser()._actions if action.option_strings} - {"help"}
    flags = {name for name in flags if not name.startswith(PREFIX)}  # those of the learner
    origin = {each.name for each in fields(Origin)} | {"format"} | {*ROLES}
    assert flags <= origin | COMPARED | STEPS | MAY_DIFFER
    assert flags >= COMPARED | STEPS | MAY_DIFFER
