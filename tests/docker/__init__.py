"""Tests that need Docker and take minutes: ``make docker-test`` runs them, ``make test`` does not."""
