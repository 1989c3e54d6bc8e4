# `make help` lists the commands.  Each builds .venv from .ci/requirements.lock first, if it must.

# PYTHON builds .venv; where it is not given: python3, or the first of python3.11, python3.12 … that is new enough.
# PYTHONS are what `make check` tries besides; where they are not given: each that is found to run.
PYTHON ?=
PYTHONS ?=

# files are UTF-8, whatever the locale is
export PYTHONUTF8 = 1
SHELL = /bin/sh
.DEFAULT_GOAL = help
RUN = .venv/bin/python
COPY_ME = $(wildcard $(addprefix src/lifespec/,server.py application.py validate.py messages.py))
SRC_TESTS = $(wildcard tests/test_*.py tests/conformance/test_*.py tests/testing/test_*.py)

.PHONY: help docs live test outputs check style types package coverage optimized slow pythons exhaustive bench waiting release records measure translate review matrix mutation mutants lock clean loglines middleware peers frameworks hosts history

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1 /p' Makefile | while read -r name does; do printf 'make %-10s %s\n' "$$name" "$$does"; done

docs: .venv/complete build/doctrees/begun$(LIVE)  ## build site/ in both languages: open site/index.html
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target site/en site/zh-cn
	@$(RUN) docs/_ext/lifespec_docs/search.py site/en site/zh-cn
	@$(if $(LIVE),$(RUN) docs/_ext/lifespec_docs/live/files.py build/live/package site/live)
	@cp docs/_root/index.html site; touch site/.nojekyll  # GitHub Pages would leave out what begins with "_"

.PHONY: site/en site/zh-cn
site/en: LANGUAGE = en
site/zh-cn: LANGUAGE = zh_CN
site/en site/zh-cn:
	@$(RUN) -m sphinx -q -n -W --keep-going $(if $(LIVE),-t live) -D language=$(LANGUAGE) -d build/doctrees/$(@F) docs $@

# all pages are read anew after a change of what draws them, and from a site with buttons to one without
build/doctrees/begun build/doctrees/begun-live: .ci/requirements.lock docs/conf.py $(shell find docs/_ext docs/_static docs/_templates -type f ! -name '*.pyc')
	@rm -rf $(@D) site; mkdir -p $(@D); touch $@

live: build/live/complete  ## build site/ with programs that can be run and edited; needs npm
	@$(MAKE) --no-print-directory docs LIVE=-live

test: .venv/complete  ## run all tests and every program of the pages, as many at a time as there are processors
	@$(RUN) -m pytest -q -n auto --dist worksteal -m "not slow"

outputs: .venv/complete  ## write what the programs of the pages print now into the pages, to be reviewed
	@$(RUN) -m pytest -q -n auto --dist worksteal docs --update

check: style types package coverage optimized slow pythons records  ## style, types, packages, coverage, python -O, slow tests, other Pythons
	@echo "check: style, types, package, coverage, optimized, slow, pythons: all passed"

style: .venv/complete
	@echo "check: style"
	@$(RUN) -m ruff check --quiet src docs tests
	@$(RUN) -m ruff format --quiet --diff src docs tests
	@PYTHONPATH=docs/_ext .venv/bin/lint-imports --no-cache --no-logo
	@.venv/bin/zizmor --offline --quiet .github

types: .venv/complete
	@echo "check: types, of all together and of each file to copy alone"
	@$(RUN) -m mypy
	@set -e; for file in $(COPY_ME); do \
		rm -rf build/alone; mkdir -p build/alone; cp $$file build/alone; cd build/alone; \
		../../$(RUN) -m mypy --strict --config-file= $${file##*/}; cd ../..; done

package: .venv/complete build/twine/complete
	@echo "check: a release without its refusals"
	@DRY=1 sh .ci/release

coverage: .venv/complete
	@echo "check: every line and branch of src runs"
	@$(RUN) -m pytest -q -n auto --dist worksteal -m "not slow" --cov --cov-fail-under=100

optimized: .venv/complete
	@echo "check: the tests of src under python -O"
	@PYTHONOPTIMIZE=1 $(RUN) -m pytest -q -n auto -p no:cacheprovider $(SRC_TESTS)

slow: docs build/matrix/complete build/suites/complete build/recipes/complete
	@echo "check: real servers and brokers, type checkers, the site in a browser"
	@$(RUN) -m pytest -q -n auto --dist worksteal -m slow

pythons: .venv/complete
	@PYTHONS="$(PYTHONS)" sh .ci/pythons $(SRC_TESTS)

exhaustive: .venv/complete  ## run every application of up to N actions
	@$(RUN) tests/every/exhaustive.py $(N)

bench: .venv/complete build/peers/complete  ## measure the speed, against others; PYTHONS="python3.12 python3.13" too; ten minutes
	@others=; for python in $(PYTHONS); do \
		folder=build/peers-$$(basename $$python); others="$$others $$folder/bin/python"; \
		rm -rf $$folder; $$python -m venv $$folder || exit; \
		$$folder/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/peers.txt || exit; \
	done; PYTHONPATH=src:docs/_ext build/peers/bin/python tests/measure/bench.py --into docs/matrix/bench.json $$others

translate waiting: .venv/complete  ## renew the Chinese catalogs from the English pages, or name what waits for a translation
	@$(RUN) -m sphinx -q -b gettext -t live -d build/doctrees/gettext docs build/gettext
	@$(RUN) docs/_ext/lifespec_docs/translate.py $(if $(filter waiting,$@),--check)

release: .venv/complete build/twine/complete  ## make build/release: packages, site and checksums; TAG=v1.2.3, DRY=1, OLD="pagi"
	@DRY="$(DRY)" OLD="$(OLD)" sh .ci/release $(TAG)

records: .venv/complete  ## name the records in docs/matrix that are older than what they speak of
	@$(RUN) docs/records.py

measure: .venv/complete  ## renew the records that `make records` names, one command after another or side by side; ALL=1: all
	@$(RUN) docs/records.py --commands $(if $(ALL),--all) >build/measure
	@failed=0; while read -r jobs commands; do \
		$(MAKE) --no-print-directory --keep-going --jobs=$$jobs $$commands </dev/null || failed=1; done <build/measure; exit $$failed

review: .venv/complete  ## print the sentences that stayed as they were while what stands below them changed; REV=main
	@PYTHONPATH=docs/_ext $(RUN) -m lifespec_pages.review $(REV)

matrix: known-run build/matrix/complete  ## check the current servers, record what they do; ten minutes; ONLY="granian"
	@for record in $$(cat build/only-run); do \
		PYTHONPATH=src:docs/_ext $(RUN) tests/measure/run.py build/matrix docs/matrix/$$record.json $(if $(ONLY),"$(ONLY)") || exit; done

# before anything is installed
known-%: .venv/complete
	@mkdir -p build; PYTHONPATH=src:docs/_ext $(RUN) tests/measure/only.py $* "$(ONLY)" >build/only-$*

frameworks: known-frameworks build/frameworks/complete  ## record what frameworks do in a lifespan; three minutes; ONLY="Quart, before_serving"
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/frameworks.py build/frameworks/bin/python docs/matrix/frameworks.json $(if $(ONLY),"$(ONLY)")

middleware: known-middleware build/middleware/complete  ## record what middlewares do to a lifespan; a minute; ONLY="sentry-sdk"
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/middleware.py build/middleware/bin/python docs/matrix/middleware.json $(if $(ONLY),"$(ONLY)")

hosts: known-hosts build/hosts/complete build/matrix/complete  ## record what adapters, test clients and further servers do with a lifespan; eight minutes; ONLY="Mangum, auto"
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/hosts.py build/hosts/bin docs/matrix/hosts.json $(if $(ONLY),"$(ONLY)")

history: .venv/complete build/history/uv/complete  ## record how the releases of earlier years differ; ten minutes; SUBJECT="uvicorn"
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/history.py build/history docs/matrix/history.json $(if $(SUBJECT),"$(SUBJECT)")

loglines: .venv/complete build/matrix/complete  ## record what servers log about a lifespan; ten minutes
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/loglines.py build/matrix docs/matrix/loglines.json

peers: .venv/complete build/suites/complete  ## run uvicorn's and hypercorn's own tests with server.py in place of their code; ten minutes
	@PYTHONPATH=src:docs/_ext $(RUN) tests/measure/peers.py build/suites docs/matrix/peers.json

mutation: .venv/complete build/mutmut/complete  ## change the files to copy, one place at a time: does a test notice? (half an hour)
	@PYTHONPATH=build/mutmut $(RUN) -m mutmut run; PYTHONPATH=build/mutmut $(RUN) -m mutmut results

mutants: .venv/complete  ## change the files to copy in 60 places drawn at random: does a program of the pages notice? N=60
	@$(RUN) tests/measure/mutants.py $(N)

lock:  ## resolve .ci/requirements.lock anew, on the oldest Python
	@PYTHON="$(PYTHON)" sh .ci/lock

clean:  ## remove all that was built
	rm -rf .venv build dist site .mypy_cache .pytest_cache .ruff_cache

# Python for browsers; the sum of the package is the one that npm has of it
PYODIDE = pyodide-314.0.7.tgz
PYODIDE_SHA512 = d18bd7c4485f11da4b7dbfd790cd8114078c44eab488c517d9bcf31fda4eb6dc8c716930abe1db139bb2b860fcd8b37bcb6abe48dbe2ffa579244b0e943d91d4
build/live/complete: Makefile
	@command -v npm >/dev/null || { echo "make live needs npm, which is not installed." >&2; exit 1; }
	@rm -rf build/live; mkdir -p build/live
	@cd build/live && npm pack --silent "$(subst -,@,$(PYODIDE:.tgz=))" >/dev/null && \
		echo "$(PYODIDE_SHA512)  $(PYODIDE)" | sha512sum --check --quiet && tar --extract --gzip --file $(PYODIDE)
	@touch build/live/complete

ENVIRONMENTS = $(patsubst %,build/%/complete,peers frameworks middleware hosts recipes)
$(ENVIRONMENTS): build/%/complete: .ci/%.txt .venv/complete
	@echo "build/$*: installing $$(grep -c == .ci/$*.txt) packages, once"
	@rm -rf build/$*; mkdir -p build; $(RUN) -m venv build/$*
	@build/$*/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/$*.txt
	@touch build/$*/complete

# pytest-amgi wants another amgi-common than the servers do: it has an environment of its own
build/matrix/complete: .ci/matrix.txt .ci/matrix-pytest-amgi.txt .venv/complete
	@echo "build/matrix: installing $$(cat .ci/matrix*.txt | grep -c ==) packages, once"
	@rm -rf build/matrix; mkdir -p build; $(RUN) -m venv build/matrix; $(RUN) -m venv build/matrix/pytest-amgi
	@build/matrix/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/matrix.txt
	@build/matrix/pytest-amgi/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes \
		--requirement .ci/matrix-pytest-amgi.txt
	@touch build/matrix/complete

# uvicorn's and hypercorn's tests are in their source packages alone
build/suites/complete: .ci/suites.txt .venv/complete
	@echo "build/suites: installing $$(grep -c == .ci/suites.txt) packages, once"
	@rm -rf build/suites; mkdir -p build; $(RUN) -m venv build/suites
	@build/suites/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/suites.txt
	@awk '/^[^ ]/ { wanted = /^(hypercorn|uvicorn)==/ } wanted' .ci/suites.txt > build/suites/sources.txt
	@build/suites/bin/python -m pip --quiet --quiet --disable-pip-version-check download --no-deps --no-build-isolation --no-binary :all: \
		--require-hashes --requirement build/suites/sources.txt --dest build/suites/sources
	@for package in build/suites/sources/*.tar.gz; do tar --extract --gzip --file $$package --directory build/suites/sources; done
	@touch build/suites/complete

build/twine/complete: .ci/release.txt .venv/complete
	@rm -rf build/twine; mkdir -p build; $(RUN) -m venv build/twine
	@build/twine/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/release.txt
	@touch build/twine/complete

build/history/uv/complete: .ci/release.txt .venv/complete
	@rm -rf build/history; mkdir -p build/history; $(RUN) -m venv build/history/uv
	@build/history/uv/bin/python -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement .ci/release.txt
	@touch build/history/uv/complete

build/mutmut/complete: .ci/mutation.txt .venv/complete
	@rm -rf build/mutmut
	@$(RUN) -m pip --quiet --quiet --disable-pip-version-check install --no-deps --require-hashes --target build/mutmut --requirement .ci/mutation.txt
	@touch build/mutmut/complete

# a folder that was moved here holds paths of where it was; a Python that was renewed may have left it without one; and
# it may have another Python than the one that is asked for
ifneq ($(shell .venv/bin/python -c "import pip" 2>/dev/null && cat .venv/complete 2>/dev/null),$(CURDIR))
.PHONY: .venv/complete
else ifneq ($(PYTHON),)
ifneq ($(shell .venv/bin/python --version),$(shell "$(PYTHON)" --version 2>&1))
.PHONY: .venv/complete
endif
endif
.venv/complete: .ci/requirements.lock pyproject.toml
	@sh .ci/venv .venv "$(PYTHON)"
