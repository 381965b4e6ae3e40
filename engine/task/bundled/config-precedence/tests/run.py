"""Run every hidden test against the repository and write the reward.

usage: python3 -I run.py REPOSITORY TESTS OUT
"""

import json
import os
import sys
import unittest

repository, tests, out = sys.argv[1:]
# Behind the standard library: no file of the repository can stand in for it.
sys.path.append(repository)

suite = unittest.defaultTestLoader.discover(tests, pattern="test_*.py", top_level_dir=tests)
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
solved = 1 if result.testsRun > 0 and bad == 0 else 0
with open(os.path.join(out, "reward.json"), "w", encoding="utf-8") as file:
    json.dump({"reward": solved, "passed": max(result.testsRun - bad, 0), "total": result.testsRun}, file)
with open(os.path.join(out, "reward.txt"), "w", encoding="utf-8") as file:
    file.write(f"{solved}\n")
