"""Records: tables of numbers, texts and dates, and how they become rows of numbers."""
