"""Why a row got its score, which columns matter, and how unlike the rows seen a row is."""
