"""The presets whose events see what the whole machine does, on an operation that is slow by what was planted."""

from lagtrap_test import run
from test_presets import trials

if __name__ == "__main__":
    run(*trials(of_the_machine=True))
