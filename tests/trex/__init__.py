"""Trials by TRex, against a stand-in for its client."""
