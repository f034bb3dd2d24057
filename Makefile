# Each target works alone on a fresh clone: it sets up what it needs.
PYTHON ?= python3
READY  := .venv/.ready

.PHONY: setup test fast demo lint docs fuzz bench clean

setup: $(READY) jar

$(READY): requirements.lock pyproject.toml scripts/setup
	PYTHON=$(PYTHON) scripts/setup

.PHONY: jar
jar: $(READY)
	@.venv/bin/python scripts/compile_jar.py

test: setup            ## everything: lint, types, unit, Spark, Kafka, standalone cluster
	scripts/lint
	.venv/bin/pytest -m "not long"

fast: setup            ## what needs no Spark: seconds
	.venv/bin/pytest -m "not long and not spark and not kafka and not cluster"

lint: setup
	scripts/lint

demo: setup            ## word count with a load step; ends with the path of its report
	.venv/bin/penstock demo

fuzz: setup            ## the full exactness matrix: hours
	.venv/bin/pytest -m long

docs: setup
	.venv/bin/mkdocs build --strict

clean:
	rm -rf build dist site penstock/jars .pytest_cache .mypy_cache .ruff_cache
