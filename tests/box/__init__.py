"""Packets through one or two simulated boxes, judged by scapy."""
