# The commands of this project: `make` lists them. What they need comes with the first call (requirements/setup.sh),
# into .venv; later calls find it there and lose no time.
#
#   SUBMISSION=PATH    what to grade: a folder, a zip file or gpt.py
#   ARGS="..."         further options for the command that the target runs
#   PYTHON=PATH        a Python whose environment has torch: only what is missing is installed
#   TORCH_INDEX_URL=   take torch from pip's default index
#   BASE_IMAGE=NAME    what images stand on; TARGET=grader, prairielearn or gradescope is what for

SUBMISSION ?= student
export BASE_IMAGE TARGET IMAGE OUT
export SUBMISSION # reaches the recipe as a variable of the shell, so that no space or quote in a path matters

.DEFAULT_GOAL := help
.NOTPARALLEL: # two targets at once would both set up .venv
.PHONY: help setup grade test lint derive derive-check lock clean
.PHONY: nbgrader-course gradescope prairielearn wheelhouse image image-verify docker-grade docker-test parity

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@sed -n 's/^#   /  /p' Makefile

setup: ## make .venv, with everything that grading needs
	@sh requirements/setup.sh
	@echo "Ready: make grade"

grade: ## grade a submission: make grade [SUBMISSION=student] [ARGS="--only causality"]
	@sh requirements/setup.sh
	@.venv/bin/python -m autograder grade "$$SUBMISSION" $(ARGS)

test: ## run the package's own tests
	@sh requirements/setup.sh dev
	@.venv/bin/python -m pytest -n auto --dist worksteal $(ARGS)

lint: ## check style and types
	@sh requirements/setup.sh dev
	@.venv/bin/python -m ruff check
	@.venv/bin/python -m ruff format --check
	@.venv/bin/python -m mypy

derive: ## make student/ from reference/
	@sh requirements/setup.sh course
	@.venv/bin/python -m reference.derive

derive-check: ## fail if student/ is not what reference/ gives
	@sh requirements/setup.sh course
	@.venv/bin/python -m reference.derive --check

lock: ## pin the newest fitting versions: make lock [ARGS=--upgrade]
	@sh requirements/setup.sh
	@sh requirements/lock.sh $(ARGS)

nbgrader-course: ## make a folder in which nbgrader's commands run: make nbgrader-course OUT=FOLDER
	@sh requirements/setup.sh course
	@.venv/bin/python -m autograder.course.nbgrader_course "$$OUT"

gradescope: ## make build/gradescope.zip, to be uploaded as the autograder of an assignment
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package gradescope --out build/gradescope.zip $(ARGS)

prairielearn: ## make build/prairielearn.zip, a question: make prairielearn ARGS="--image NAME"
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package prairielearn --out build/prairielearn.zip $(ARGS)

wheelhouse: ## fetch what images are made from: every wheel, pinned by version and hash
	@sh requirements/setup.sh
	@sh docker/wheelhouse.sh

image: ## build the grader's image: make image [BASE_IMAGE=...] [TARGET=grader]
	@sh requirements/setup.sh
	@sh docker/image.sh $(ARGS)

image-verify: ## build the image twice and compare
	@sh requirements/setup.sh
	@sh docker/verify.sh

docker-grade: ## grade in the image, without a network: make docker-grade SUBMISSION=...
	@sh docker/grade.sh "$$SUBMISSION" $(ARGS)

docker-test: ## test the image and the platforms' layouts in containers
	@sh requirements/setup.sh dev
	@.venv/bin/python -m pytest tests/docker $(ARGS)

parity: ## grade submissions of the bank on every channel and compare the scores
	@sh requirements/setup.sh dev
	@.venv/bin/python -m tests.docker.parity $(ARGS)

clean: ## remove .venv and all caches
	@rm -rf .venv wheelhouse wheelhouse.new .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	@find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
