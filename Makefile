# The commands of this project: `make` lists them. Those for students stand in bundle/Makefile.
#
#   BASE_IMAGE=NAME    what images stand on; TARGET=grader, prairielearn or gradescope is what for

include bundle/Makefile

export BASE_IMAGE TARGET IMAGE OUT

.PHONY: test bench lint derive derive-check lock student-bundle
.PHONY: nbgrader-course gradescope prairielearn wheelhouse image image-verify docker-grade docker-test parity

test: ## run the package's own tests
	@sh requirements/setup.sh dev
	@.venv/bin/python -m pytest -n auto --dist worksteal $(ARGS)

bench: ## measure what grading costs, against the budget: make bench [ARGS="--quick --only single"]
	@sh requirements/setup.sh dev
	@.venv/bin/python -m tests.bench $(ARGS)

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

student-bundle: ## make build/student.zip, to be handed out: the assignment and the grader, without solutions
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package student --out build/student.zip

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

clean::
	@rm -rf wheelhouse wheelhouse.new .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
