"""What needs Docker and takes minutes: run by ``make docker-test``, not by ``make test``."""
