"""Records and packets as trees of lines, for a screen or as text."""
