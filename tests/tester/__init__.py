"""The front end: RFC 2544 trials, reports, comparisons, and what it says of bad input."""
