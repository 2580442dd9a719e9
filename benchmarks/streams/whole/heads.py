"""The learners in the order of the tables, by name: nothing needs to be installed for this."""

SIZES = (20, 50, 100)
"""The sizes of our default that run."""
DEFAULT = "auto 50"
"""The one that is compared with everybody."""
OURS = tuple(f"auto {size}" for size in SIZES)
PEERS = (
    "six experts",
    "LightGBM",
    "LightGBM, last 10,000",
    "KNN",
    "EFDT",
    "ARF 10",
    "SRP 10",
    "LB 10",
    "SOKNL 10",
    "SGBT",
    "river ARF 10",
    "river SRP 10",
    "river LB 10",
    "river EFDT",
    "river KNN",
)
LEARNERS = (*OURS, *PEERS)
LABELS_ONLY = ("EFDT", "SRP 10", "LB 10", "river EFDT", "river LB 10")
"""The learners that cannot learn targets."""
TARGETS_ONLY = ("SOKNL 10",)
"""The learners that cannot learn labels."""
