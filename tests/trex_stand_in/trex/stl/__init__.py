"""Stateless mode."""
