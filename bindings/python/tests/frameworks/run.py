"""Runs the tests of one module, and prints their results as TAP."""

import sys
import unittest


OUTPUT = sys.stdout
sys.stdout = sys.stderr
"""Frameworks print to the standard output, too."""


class Results(unittest.TextTestResult):
    """Prints each result as a line."""

    def report(self, word, test):
        print(f"{word} {self.testsRun} - {test._testMethodName.removeprefix('test_').replace('_', ' ')}", file=OUTPUT, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.report("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.report("not ok", test)

    def addError(self, test, error):
        super().addError(test, error)
        self.report("not ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.report("not ok", test)


suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
done = unittest.TextTestRunner(stream=sys.stderr, resultclass=Results).run(suite)
sys.exit(0 if done.wasSuccessful() and done.testsRun else 1)
