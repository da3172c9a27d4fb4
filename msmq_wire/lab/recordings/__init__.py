"""Recordings of a scenario on real queue managers or in the lab, and what a capture of one should hold."""
