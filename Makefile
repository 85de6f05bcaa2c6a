# make demo | test | serve | bench | lint | mutation | test-long | reliability        PYTHON=python3.13 chooses the interpreter, VENV=.venv-313 the folder
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
PYTEST := $(RUN) -m pytest -q -m "not long"

.PHONY: demo serve test test-newest test-library test-rest test-contract test-crash test-client test-themes test-sqlite test-long reliability mutation mutation-client bench lint clean

$(VENV)/.ready: requirements.txt pyproject.toml documents/client/package-lock.json
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.13 …" >&2; exit 2; }
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet -r requirements.txt
	$(RUN) documents/client/build.py --install
	@touch $@

demo: $(VENV)/.ready
	$(RUN) manage.py migrate --verbosity 0
	$(RUN) manage.py demo

serve: $(VENV)/.ready
	$(RUN) manage.py migrate --verbosity 0
	$(RUN) manage.py serve

# The suite in parts, three at a time, since much of it waits: each part has a database (and, where none is given, a server) of its own.
# The newest Python and Django pass all but the crash and the browser part in CI.
PARTS := test-client test-contract test-crash test-sqlite test-rest test-library test-themes
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
test: $(VENV)/.ready
	@$(MAKE) --no-print-directory --keep-going --jobs=3 $(SYNC) $(PARTS)
test-newest: $(VENV)/.ready
	@$(MAKE) --no-print-directory --keep-going --jobs=3 $(SYNC) $(filter-out test-crash test-client test-themes,$(PARTS))

# What asks nothing of the database that the other parts do not ask of SQLite too.
ONCE := client crash desk_themes branches bench docs notifications accounts/test_demo.py accounts/test_bucket.py \
  accounts/test_far_sides.py desk/test_german.py documents/test_merging.py documents/test_openapi.py \
  durable/test_reconcile_misuse.py outbox/test_email.py

$(PARTS): $(VENV)/.ready
test-library:
	SUITE_PART=library $(PYTEST) tests/durable tests/documents
test-rest:
	SUITE_PART=rest $(PYTEST) $(patsubst %,--ignore=tests/%,durable documents conformance mutation crash client desk_themes) tests
test-contract:
	SUITE_PART=contract $(PYTEST) tests/conformance tests/mutation
test-crash:
	SUITE_PART=crash $(PYTEST) tests/crash
test-client:
	SUITE_PART=client $(PYTEST) tests/client
test-themes:
	SUITE_PART=themes $(PYTEST) tests/desk_themes
test-sqlite:
	@mkdir -p var
	DATABASE_URL=$${SQLITE_URL:-sqlite:///var/test.sqlite3} $(RUN) -m pytest -q -m "not long and not postgres" $(patsubst %,--ignore=tests/%,$(ONCE))

test-long: $(VENV)/.ready
	$(RUN) -m pytest -q -m long

reliability: $(VENV)/.ready
	$(RUN) -m pytest -q tests/crash
	$(RUN) -m bench.soak --seconds 600 --workers 4 > var/soak.json
	$(RUN) -m tests.crash.report var/soak.json

mutation: $(VENV)/.ready
	$(RUN) -m tests.mutation

# Each guard of the browser client's core removed in turn; minutes.
mutation-client: $(VENV)/.ready
	$(RUN) -m tests.client.mutants never

bench: $(VENV)/.ready
	$(RUN) -m bench

lint: $(VENV)/.ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(BIN)/lint-imports
	DATABASE_URL=sqlite:///:memory: DJANGO_SETTINGS_MODULE=tests.settings $(RUN) manage.py makemigrations --check --dry-run

clean:
	rm -rf $(VENV) var db.sqlite3* staticfiles
