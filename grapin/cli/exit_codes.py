"""What the command line returns to the shell; 0 is success."""

WRONG = 1
"""A verifier found a value that is not right: a defect of ours, not of the command."""
MISSED = 1
"""An experiment did not keep a limit that it states."""
UNREAD = 1
"""Whoever read our output has left; the same that click and rich use."""
FAILED = 2
"""Anything the user can act on."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT, as shells have it."""
