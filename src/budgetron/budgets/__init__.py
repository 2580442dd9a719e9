"""Budgets: how a new term joins f, and what goes when there are more than B support vectors."""

from budgetron.budgets._budget import Budget
from budgetron.budgets.maintenance import Maintained, Merge, ProjectSmallest, RemoveSmallest, Sometimes
from budgetron.budgets.projection import Project, ProjectPlus
from budgetron.budgets.removal import (
    Forget,
    ForgetLargerRoot,
    RemoveOldest,
    RemoveRandom,
    RemoveRedundant,
    Stop,
    Unbounded,
)
from budgetron.budgets.sampling import SampleByWeight, SampleUniform, SampleUniformScaled
from budgetron.budgets.swapping import Swap, SwapNearest, SwapProject

__all__ = [
    "Budget",
    "Forget",
    "ForgetLargerRoot",
    "Maintained",
    "Merge",
    "Project",
    "ProjectPlus",
    "ProjectSmallest",
    "RemoveOldest",
    "RemoveRandom",
    "RemoveRedundant",
    "RemoveSmallest",
    "SampleByWeight",
    "SampleUniform",
    "SampleUniformScaled",
    "Sometimes",
    "Stop",
    "Swap",
    "SwapNearest",
    "SwapProject",
    "Unbounded",
]
