"""What every other folder may use: checks, errors, names, locks, threads, rows for the core."""
