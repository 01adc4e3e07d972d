PYTHON ?= python3
COURSE := .venv/bin/course

.PHONY: course check test test-slow test-deps sweeps for-tests bench train clean uninstall setup lock
course: setup
	$(COURSE) make

check: setup  # what a contributor runs again and again: style, layers, the fast tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python -m pytest -q -n auto tests/test_house.py tests/autograder/engine tests/book/test_prose.py tests/book/test_review.py tests/reference_impl/layers tests/reference_impl/tokenizers

test: course test-deps
	.venv/bin/python -m pytest -n auto --dist loadscope

test-slow: course test-deps  # five thousand texts a tokenizer, two hundred random runs of the engine: over half an hour
	.venv/bin/python -m pytest -n auto --dist loadscope -m long

sweeps for-tests:  # their old names, for one more release
	@echo "make $@ is now make $(if $(filter sweeps,$@),test-slow,test-deps)"
	@$(MAKE) $(if $(filter sweeps,$@),test-slow,test-deps)

bench: setup
	for program in $$(grep -l '^if __name__' bench/*.py); do .venv/bin/python $$program || [ $$? -eq 77 ] || exit 1; done  # 77: no GPU, no rival

train: setup  # every small model anew; over three hours of one core, by their records
	.venv/bin/python bench/trained/all.py

setup:
	@$(PYTHON) course/bootstrap.py

test-deps: course  # programs that only tests need
	@$(PYTHON) course/bootstrap.py --tests

lock:
	sh .ci/lock

clean:  # what was built; the environment, the data, your work and grades stay (see uninstall)
	rm -rf _build .pytest_cache

uninstall:
	@$(PYTHON) course/uninstall.py
