"""What CPython's own parser finds in the files named on standard input.

One JSON object a line, in the order asked. A file that this Python cannot parse
gives {"error": …}.
"""
import ast
import json
import sys
import warnings

warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)
OLD_FSTRINGS = sys.version_info < (3, 12)  # lines inside f-strings are unreliable
DEFS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def chain(node):
    """The dotted name of a call as the scanner writes it, "" if there is none."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.reverse()
    if isinstance(node, ast.Name):
        return ".".join([node.id] + parts)
    if not parts:
        return ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "super()." + ".".join(parts)
    return "." + ".".join(parts)


def plain(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


class Walk:
    def __init__(self):
        self.entities, self.refs, self.variables = [], [], []
        self.stack = []  # (name, line) of the definitions around
        self.formatted = 0

    def ref(self, kind, node, name, target="", alias="", level=0, line=None):
        line = node.end_lineno if line is None else line
        if OLD_FSTRINGS and self.formatted:
            line = 0
        owner = self.stack[-1] if self.stack else ["", 0]
        self.refs.append([kind, name, target, alias, level, line, owner[0], owner[1]])

    def targets(self, node, line, end):
        if isinstance(node, ast.Name):
            self.variables.append([node.id, line, end])
        elif isinstance(node, ast.Starred):
            self.targets(node.value, line, end)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for item in node.elts:
                self.targets(item, line, end)

    def visit(self, node):
        if isinstance(node, DEFS):
            return self.define(node)
        if not self.stack:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.targets(target, node.lineno, node.end_lineno)
            elif isinstance(node, ast.AnnAssign):
                self.targets(node.target, node.lineno, node.end_lineno)
            elif type(node).__name__ == "TypeAlias":
                self.targets(node.name, node.lineno, node.end_lineno)
        if isinstance(node, ast.Call):
            name = chain(node.func)
            if name:
                self.ref("invokes", node.func, name)
        elif isinstance(node, ast.Import):
            for a in node.names:
                self.ref("imports", node, a.name, "", a.asname or "", line=getattr(a, "lineno", 0))
        elif isinstance(node, ast.ImportFrom):
            for a in node.names:
                self.ref("imports", node, node.module or "", a.name, a.asname or "", node.level, getattr(a, "lineno", 0))
        inside = isinstance(node, ast.JoinedStr)
        self.formatted += inside
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        self.formatted -= inside

    def define(self, node):
        first = node.decorator_list[0].lineno if node.decorator_list else 0
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        parent = self.stack[-1] if self.stack else ["", 0]
        doc = ast.get_docstring(node, clean=False)
        self.entities.append([kind, node.name, node.lineno, node.end_lineno, first, parent[0], parent[1], doc])
        self.stack.append([node.name, node.lineno])
        for d in node.decorator_list:
            func = d.func if isinstance(d, ast.Call) else d
            if plain(func):
                self.ref("decorates", func, chain(func))
        for b in getattr(node, "bases", []):
            b = b.value if isinstance(b, ast.Subscript) else b
            if plain(b):
                self.ref("inherits", b, chain(b))
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        self.stack.pop()


for name in sys.stdin:
    try:
        with open(name.rstrip("\n"), "rb") as f:
            tree = ast.parse(f.read())
        walk = Walk()
        for statement in tree.body:
            walk.visit(statement)
        out = {"entities": walk.entities, "refs": walk.refs, "variables": walk.variables,
               "doc": ast.get_docstring(tree, clean=False)}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        out = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(out))
