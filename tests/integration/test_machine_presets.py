"""The presets whose events cover the whole machine, each with a planted slow operation."""

from lagtrap_test import run
from test_presets import trials

if __name__ == "__main__":
    run(*trials(of_the_machine=True))
