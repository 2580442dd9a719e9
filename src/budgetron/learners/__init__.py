"""Which step a model takes, as a description: parts put together, and algorithms by name."""
