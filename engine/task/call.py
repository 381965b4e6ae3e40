"""call.py FUNCTION ARGS RESULT: calls a function of solution.py, or the method of
its class Solution, with the arguments that ARGS holds as JSON, and writes what it
returns to RESULT."""

import json
import os
import sys

name, given, result = sys.argv[1:4]
if os.path.exists(result):
    os.remove(result)
with open(given) as f:
    args = json.load(f)
with open("solution.py") as f:
    code = f.read()

# Names that such solutions take for granted.
space = {"__name__": "solution"}
exec(
    "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys\n"
    "from bisect import *\nfrom collections import *\nfrom functools import *\n"
    "from heapq import *\nfrom itertools import *\nfrom typing import *\n",
    space,
)
exec(compile(code, "solution.py", "exec"), space)
owner = space.get("Solution")
function = getattr(owner(), name) if hasattr(owner, name) else space[name]
value = function(*args)
with open(result, "w") as f:
    json.dump(value, f, default=list)
