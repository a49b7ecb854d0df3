"""Define the two errors that end a command with one line for the person who ran it."""


class BadInput(Exception):
    """An error that the user can fix; the message is one line."""


class Refused(Exception):
    """This machine cannot give grades that count; the message is one line."""
