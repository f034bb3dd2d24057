"""Combined: Stela's allocation where the model predicts strictly more from it, else the residual one.

Puttaswamy, section 5.2.8. On the model it is never below either; it says nothing about measured throughput.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.allocate.answer import Answer
from penstock.allocate.measured import Question
from penstock.allocate.predictive import predictive
from penstock.allocate.stela import stela

ROUNDING = 1e-12  # a tie stays a tie whatever the order of additions


def combined(question: Question) -> Answer:
    """The safe allocation is the predictive one, whoever wins."""
    serial, batch = stela(question), predictive(question)
    wins = serial.throughput_rows_per_s > batch.throughput_rows_per_s * (1 + ROUNDING)
    winner = serial if wins else batch
    compared = f"stela predicts {serial.throughput_rows_per_s:.6g} rows/s, predictive {batch.throughput_rows_per_s:.6g}"
    return replace(winner, algorithm="combined", safe_extra=batch.safe_extra, why=f"{compared}; {winner.why}")
