PYTHON ?= python3
COURSE := .venv/bin/course

.PHONY: course test sweeps for-tests bench train clean uninstall setup lock
course: setup
	$(COURSE) make

test: course for-tests
	.venv/bin/python -m pytest -n auto --dist loadscope

sweeps: course for-tests  # five thousand texts a tokenizer, two hundred random runs of the engine: over half an hour
	.venv/bin/python -m pytest -n auto --dist loadscope -m long

bench: setup
	for program in $$(grep -l '^if __name__' bench/*.py); do .venv/bin/python $$program || [ $$? -eq 77 ] || exit 1; done  # 77: no GPU, no rival

train: setup  # every small model anew; over three hours of one core, by their records
	.venv/bin/python bench/trained/all.py

setup:
	@$(PYTHON) course/bootstrap.py

for-tests: course  # programs that only tests need
	@$(PYTHON) course/bootstrap.py --tests

lock:
	sh .ci/lock

clean:  # what was built; the environment, the data, your work and grades stay (see uninstall)
	rm -rf _build .pytest_cache

uninstall:
	@$(PYTHON) course/uninstall.py
