"""Captures that recorded the same traffic at several places: vantage points of one joint capture."""
