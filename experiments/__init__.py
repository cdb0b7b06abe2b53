"""Measurements: each module here answers one question; `grapin experiments run NAME` asks it."""
