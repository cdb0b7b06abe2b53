"""`python -m grapin` is the command line."""

import sys

from grapin.cli.main import main

sys.exit(main())
