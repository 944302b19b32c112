"""How the framework asks a model for a decision, and the only code that reads model text as data."""

from captain.decide.decide import Decision, decide
from captain.decide.scoring import Choice, Likelihood, choose, score_continuations, score_options

__all__ = ["Choice", "Decision", "Likelihood", "choose", "decide", "score_continuations", "score_options"]
