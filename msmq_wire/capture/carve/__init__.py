"""Messages at rest: packets and SRMP envelopes found in files that are no captures."""
