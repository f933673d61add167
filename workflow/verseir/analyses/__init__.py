"""One module for each question of a study; each returns one tidy table."""
