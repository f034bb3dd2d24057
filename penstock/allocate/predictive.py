"""The predictive algorithm: the greedy selection of candidates, then the residual step.

Puttaswamy, section 5.2. What the selection takes worsens no congestion (the safe allocation); units that no candidate
fits are spent by the residual step (the full one).
"""

from __future__ import annotations

from penstock.allocate.answer import Answer
from penstock.allocate.measured import Question
from penstock.allocate.residual import safe_then_residual
from penstock.allocate.selection import greedy_selection


def predictive(question: Question) -> Answer:
    return safe_then_residual("predictive", question, greedy_selection)
