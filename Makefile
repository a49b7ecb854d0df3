# The commands for staff; those for students are in bundle/Makefile. `make` lists both.
#
#   BASE_IMAGE=NAME    the base image; TARGET=grader, prairielearn or gradescope selects the image to build

include bundle/Makefile

export BASE_IMAGE TARGET IMAGE OUT

.PHONY: test bench lint derive derive-check lock student-bundle nbgrader-course
.PHONY: gradescope prairielearn wheelhouse image image-verify docker-grade docker-test parity

test: ## run the package's own tests
	@sh requirements/setup.sh dev
	@.venv/bin/python -m pytest -n auto --dist worksteal $(ARGS)

bench: ## measure grading time against the budget: make bench [ARGS="--quick --only single"]
	@sh requirements/setup.sh dev
	@.venv/bin/python -m tests.bench $(ARGS)

lint: ## check style and types
	@sh requirements/setup.sh dev
	@.venv/bin/python -m ruff check
	@.venv/bin/python -m ruff format --check
	@.venv/bin/python -m mypy

derive: ## generate student/ from reference/
	@sh requirements/setup.sh course
	@.venv/bin/python -m reference.derive

derive-check: ## fail if student/ does not match reference/
	@sh requirements/setup.sh course
	@.venv/bin/python -m reference.derive --check

lock: ## pin the newest compatible versions: make lock [ARGS=--upgrade]
	@sh requirements/setup.sh
	@sh requirements/lock.sh $(ARGS)

student-bundle: ## make build/student.zip for students: the assignment and the grader, without the solution
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package student --out build/student.zip

nbgrader-course: ## create an nbgrader course folder: make nbgrader-course OUT=FOLDER
	@sh requirements/setup.sh course
	@.venv/bin/python -m autograder.nbgrader.course "$$OUT"

gradescope: ## make build/gradescope.zip, the autograder to upload
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package gradescope --out build/gradescope.zip $(ARGS)

prairielearn: ## make build/prairielearn.zip, the question to unpack: make prairielearn ARGS="--image NAME"
	@sh requirements/setup.sh
	@mkdir -p build
	@.venv/bin/python -m autograder package prairielearn --out build/prairielearn.zip $(ARGS)

wheelhouse: ## download every wheel for the images, pinned by version and hash
	@sh requirements/setup.sh
	@sh docker/wheelhouse.sh

image: ## build the Docker image: make image [BASE_IMAGE=...] [TARGET=grader]
	@sh requirements/setup.sh
	@sh docker/image.sh $(ARGS)

image-verify: ## build the image twice and compare
	@sh requirements/setup.sh
	@sh docker/verify.sh

docker-grade: ## grade in the image, without network: make docker-grade SUBMISSION=...
	@sh docker/grade.sh "$$SUBMISSION" $(ARGS)

docker-test: ## test the image and the platforms' layouts in containers
	@sh requirements/setup.sh dev
	@.venv/bin/python -m pytest tests/docker $(ARGS)

parity: ## grade bank submissions on every channel and compare the scores
	@sh requirements/setup.sh dev
	@.venv/bin/python -m tests.docker.parity $(ARGS)

clean::
	@rm -rf wheelhouse wheelhouse.new .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
