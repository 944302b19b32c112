"""Runs that survive: a run that goes on takes from its record what was done, instead of paying for it twice."""
