# `make help` lists the commands.  Each builds .venv from .ci/requirements.lock first, if it must: with PYTHON, or else with
# the first Python that is new enough.  PYTHONS are what `make pythons` runs in place of each that it finds.
export PYTHONUTF8 = 1
unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes import the same modules
.DEFAULT_GOAL = help
RUN = .venv/bin/python
PYTEST = $(RUN) -m pytest -q -n auto --dist worksteal
MEASURE = PYTHONPATH=src $(RUN) docs/_measure
WITH_MUTMUT = PYTHONPATH=$$(echo build/mutation/lib/*/site-packages) $(RUN)
ROW = $(if $(ONLY),"$(ONLY)")
SYNC = $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)  # the make of macOS has none
SRC_TESTS = $(wildcard tests/test_*.py $(foreach room,conformance diagnosis mutants testing watch,tests/$(room)/test_*.py))
PYODIDE = pyodide-314.0.7
PYODIDE_SHA512 = d18bd7c4485f11da4b7dbfd790cd8114078c44eab488c517d9bcf31fda4eb6dc8c716930abe1db139bb2b860fcd8b37bcb6abe48dbe2ffa579244b0e943d91d4
SITE = $(if $(LIVE),build/live-site,site)
DRAWERS := $(shell find docs/_ext -name '*.py')
.PHONY: help docs live test outputs check style types coverage slow pythons review translate waiting measure matrix loglines signals hosts \
	frameworks middleware bench applications exhaustive mutants release lifespec.pyz lock clean FORCE

help:  ## list the commands
	@sed -n 's/^\([a-z.]*\)[a-z ]*:.*## /\1 /p' Makefile | while read -r name does; do printf 'make %-10s %s\n' "$$name" "$$does"; done

docs: build/doctrees$(LIVE)/begun  ## build site/ in both languages: open site/index.html
	@$(MAKE) --silent --no-print-directory --jobs=2 $(SYNC) build/doctrees$(LIVE)/en.built build/doctrees$(LIVE)/zh-cn.built
	@cp docs/_root/index.html $(SITE); sed 's|href="./"|href="$(or $(LIFESPEC_BASE_URL:/=),.)/"|' docs/_root/404.html >$(SITE)/404.html
	@touch $(SITE)/.nojekyll  # GitHub Pages would leave out what begins with "_"
	@$(if $(LIVE),$(RUN) docs/_ext/lifespec_docs/live/files.py build/live/package $(SITE)/live)
# pages that have not changed are read again after a change of the programs that draw them
build/doctrees/begun build/doctrees-live/begun: .venv/complete $(DRAWERS)
	@rm -rf $(@D) $(SITE); mkdir -p $(@D); touch $@
build/doctrees$(LIVE)/%.built: pyproject.toml $(shell find docs locales src -type f ! -name '*.pyc') $(if $(LIFESPEC_BASE_URL),FORCE)
	@$(RUN) -m sphinx -q -n -W --keep-going $(if $(LIVE),-t live) -D language=$(subst -cn,_CN,$*) -d $(@D)/$* docs $(SITE)/$* || \
		{ rm -rf $(@D)/$*; exit 1; }  # pages that were read would not be read again, nor warn again
	@$(RUN) docs/_ext/lifespec_docs/search.py $(SITE)/$* && touch $@
live: build/live/complete  ## build build/live-site/, whose programs can be run and edited; needs npm
	@$(MAKE) --no-print-directory docs LIVE=-live

test: .venv/complete  ## run all tests and every program of the pages, as many at a time as there are processors
	@$(PYTEST) -m "not slow"
outputs: .venv/complete  ## write what the programs of the pages print now into the pages, to be reviewed
	@$(PYTEST) docs --update
check: style types test coverage slow pythons  ## test with coverage, under -O, other Pythons, real servers and a browser; style, types, package
	@$(MAKE) --no-print-directory release DRY=1
style: .venv/complete
	@$(RUN) -m ruff check --quiet src docs tests && $(RUN) -m ruff format --quiet --diff src docs tests
	@PYTHONPATH=docs/_ext .venv/bin/lint-imports --no-cache --no-logo
	@.venv/bin/zizmor --offline --quiet .github
types: .venv/complete
	@$(RUN) -m mypy
coverage: .venv/complete  # under -O; they reach every line and branch of src without the help of pages
	@COVERAGE_FILE="$(CURDIR)/build/coverage/data" PYTHONOPTIMIZE=1 \
		$(PYTEST) -p no:cacheprovider -m "not slow" --cov --cov-fail-under=100 $(SRC_TESTS)
slow: $(if $(shell command -v npm 2>/dev/null),live,docs)
	@$(PYTEST) -m slow
pythons: .venv/complete
	@PYTHONS="$(PYTHONS)" sh .ci/pythons $(filter-out tests/mutants/%,$(SRC_TESTS))
review: .venv/complete  ## print the sentences that changed while what stands below them did not, or the other way round; REV=main
	@PYTHONPATH=docs/_ext $(RUN) -m lifespec_pages.review $(REV)
translate waiting: .venv/complete  ## renew the Chinese catalogs from the English pages; `make waiting` names what waits
	@rm -rf build/gettext; $(RUN) -m sphinx -q -b gettext -t live -d build/gettext/.doctrees docs build/gettext
	@$(RUN) docs/_ext/lifespec_docs/translate.py $(if $(filter waiting,$@),--check)
measure: matrix frameworks middleware hosts loglines signals  ## renew the records of what others do; an hour; or one of them: make matrix ONLY="granian"
matrix: .venv/complete
	@$(MEASURE)/matrix.py docs/matrix $(ROW)
frameworks middleware hosts loglines signals: .venv/complete
	@$(MEASURE)/$@.py docs/matrix/$@.json $(ROW)
applications: .venv/complete  ## check and watch applications of others by their own commands; an hour, and 20 GB
	@$(MEASURE)/published.py docs/matrix/applications.json $(ROW)
bench: .venv/complete  ## measure the speed; on other Pythons too, after make pythons; ten minutes
	@$(MEASURE)/bench.py docs/matrix/bench.json $(wildcard build/python-*/bin/python)
exhaustive: .venv/complete  ## run every application of up to N actions
	@$(RUN) tests/every/runs.py $(N)
mutants: build/mutation/complete  ## change each file to copy, or ROOM=watch, in places drawn at random: does a page or a test notice? N=20 or all
	@$(WITH_MUTMUT) docs/_measure/mutants.py $(or $(N),20) $(ROOM)
release: .venv/complete build/release-tools/complete  ## make build/release: packages, site and checksums; TAG=v1.2.3, DRY=1
	@DRY="$(DRY)" sh .ci/release $(TAG)
lifespec.pyz: .venv/complete  ## build lifespec.pyz: all commands in one file that needs no installation
	@rm -rf build/pyz; mkdir -p build/pyz; $(RUN) -m build --no-isolation --wheel --outdir build/pyz . >build/pyz/log 2>&1 || { cat build/pyz/log >&2; exit 1; }
	@$(RUN) .ci/pyz.py build/pyz/*.whl $@
lock:  ## resolve the locks in .ci anew, on the oldest Python
	@PYTHON="$(PYTHON)" sh .ci/lock
clean:  ## remove all that was built
	rm -rf .venv build dist site lifespec.pyz .mypy_cache .pytest_cache .ruff_cache

build/%/complete: pyproject.toml .venv/complete
	@echo "build/$*: installing the group $* of pyproject.toml, once"
	@rm -rf build/$*; $(RUN) -m venv --without-pip build/$*
	@$(RUN) -m pip --quiet --quiet --disable-pip-version-check --python build/$*/bin/python install $(if $(filter release-tools,$*),--no-deps --require-hashes --requirement .ci/release.lock,--group $*) && touch $@
build/live/complete: Makefile
	@rm -rf build/live; mkdir -p build/live; cd build/live; npm pack --silent $(subst -,@,$(PYODIDE)) >/dev/null; \
		echo "$(PYODIDE_SHA512)  $(PYODIDE).tgz" | sha512sum --check --quiet && tar --extract --gzip --file $(PYODIDE).tgz
	@touch $@
.venv/complete: FORCE
	@sh .ci/venv .venv "$(PYTHON)"
