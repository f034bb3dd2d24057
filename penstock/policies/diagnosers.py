"""Symptoms to diagnoses: Dhalion's Table 1 as C10 and C11 read it, and its reading for micro-batches (D-map 6).

                      rates of B against the rest      what waits at B against the rest
under-provisioning    alike                            alike
slow instances        alike                            more than PT times
data skew             more than RT times               more than PT times
unexplained           anything else: it is logged, and nothing is changed
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.policies.symptoms import Array, Diagnosis, DiagnosisKind, Symptom, SymptomKind

RATE_APART = 1.5  # RT: the threshold of Heron's skew detector
QUEUE_APART = 2.0  # PT: a queue that is throttled for has at least the others' and its own again
LEAST_ROWS = 1.0  # a floor under queues, or 3 rows against none would be infinitely more
WORK_APART = 1.25  # on micro-batches no queue integrates: 25% slower shows as 1.33 only
SLOWER = 0.8  # of the others' rows per useful second

Flags = NDArray[np.bool_]


def table_1(rates: Array, waiting: Array, at_fault: Flags) -> DiagnosisKind | None:
    """None where nobody is at fault.

    >>> alike = np.array([100.0, 101, 99, 100])
    >>> str(table_1(alike, np.array([1000.0, 10, 12, 9]), np.array([True, False, False, False])))
    'slow instances'
    """
    if not at_fault.any():
        return None
    if rates.size == 1:
        return DiagnosisKind.UNDER_PROVISIONING
    if at_fault.all():
        alike = _spread(rates) <= RATE_APART and _spread(np.maximum(waiting, LEAST_ROWS)) <= QUEUE_APART
        return DiagnosisKind.UNDER_PROVISIONING if alike else DiagnosisKind.UNEXPLAINED
    rate = _ratio(rates, at_fault)
    waits_more = _ratio(np.maximum(waiting, LEAST_ROWS), at_fault) > QUEUE_APART
    if rate > RATE_APART:
        return DiagnosisKind.DATA_SKEW if waits_more else DiagnosisKind.UNEXPLAINED
    if rate < 1 / RATE_APART:
        return DiagnosisKind.UNEXPLAINED
    return DiagnosisKind.SLOW_INSTANCES if waits_more else DiagnosisKind.UNDER_PROVISIONING


def table_1_of_batches(rows: Array, useful_s: Array, at_fault: Flags) -> tuple[DiagnosisKind, ...]:
    """Batches tell speeds as well: an instance may be slow and have too many rows, and then both are said."""
    if not at_fault.any():
        return ()
    if at_fault.all() or _ratio(useful_s, at_fault) <= WORK_APART:
        return (DiagnosisKind.UNDER_PROVISIONING,)
    speeds = rows / np.maximum(useful_s, 1e-12)
    found = []
    if _ratio(speeds, at_fault) < SLOWER:
        found.append(DiagnosisKind.SLOW_INSTANCES)
    if _ratio(rows, at_fault) > RATE_APART:
        found.append(DiagnosisKind.DATA_SKEW)
    return tuple(found) or (DiagnosisKind.UNEXPLAINED,)


def _ratio(values: Array, at_fault: Flags) -> float:
    rest = float(values[~at_fault].mean())
    return float(values[at_fault].mean()) / rest if rest > 0 else np.inf


def _spread(values: Array) -> float:
    return float(values.max()) / float(values.min()) if values.min() > 0 else np.inf


def backpressure_diagnoses(symptoms: tuple[Symptom, ...], batched: bool) -> tuple[Diagnosis, ...]:
    """Of each component that shows backpressure the reason, by Table 1."""
    found = []
    for symptom in (s for s in symptoms if s.kind is SymptomKind.BACKPRESSURE):
        found += [Diagnosis(kind, symptom.target, (symptom,)) for kind in _kinds(symptom, batched)]
    return tuple(found)


def _kinds(symptom: Symptom, batched: bool) -> tuple[DiagnosisKind, ...]:
    rates, waiting, at_fault = symptom.rates, symptom.waiting, symptom.at_fault
    if rates is None or waiting is None or at_fault is None:
        return (DiagnosisKind.UNEXPLAINED,)
    if batched:
        return table_1_of_batches(rates, waiting, at_fault)
    kind = table_1(rates, waiting, at_fault)
    return () if kind is None else (kind,)


def over_provisioning(symptoms: tuple[Symptom, ...]) -> tuple[Diagnosis, ...]:
    """With backpressure anywhere there is none (D15)."""
    if any(s.kind is SymptomKind.BACKPRESSURE for s in symptoms):
        return ()
    quiet = (s for s in symptoms if s.kind is SymptomKind.NOTHING_WAITS)
    return tuple(Diagnosis(DiagnosisKind.OVER_PROVISIONING, s.target, (s,)) for s in quiet)


def slo_violation(symptoms: tuple[Symptom, ...]) -> tuple[Diagnosis, ...]:
    """Backpressure comes first: until it is resolved, rows that do not flow tell nothing about the sources (D22)."""
    if any(s.kind is SymptomKind.BACKPRESSURE for s in symptoms):
        return ()
    short = (s for s in symptoms if s.kind is SymptomKind.TOO_FEW_ROWS)
    return tuple(Diagnosis(DiagnosisKind.SLO_VIOLATION, s.target, (s,)) for s in short)
