"""The command of the reproduction, called inside the test or as a process of its own."""

from functools import partial

from budgetron_reproduction.command import main
from tests.helpers import command

called = partial(command.called, main=main)
process = partial(command.command, module="budgetron_reproduction")
