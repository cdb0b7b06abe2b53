"""The command line: one file a command, found by its name (see `grapin.cli.main`)."""
