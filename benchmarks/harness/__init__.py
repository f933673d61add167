"""What times two programs against each other; it knows nothing of what they do."""
