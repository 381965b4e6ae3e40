# The interpreter behind the python tool. It reads calls from a pipe of its own
# (a line "MARK BYTES", then that many bytes of code) and runs them in one module.
# After each call it says "MARK ok" or "MARK error" behind the call's output.
import ast, builtins, linecache, os, sys, traceback, types
from io import BufferedReader, FileIO, TextIOWrapper


def serve(mark):
    me, calls = os.getpid(), 0
    out, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
    take, give = os.pipe()
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"], sys.argv = main, [""]
    # Code may rebind anything but these.
    read, write, dup2, blocking, leave, getpid, join = os.read, os.write, os.dup2, os.set_blocking, os._exit, os.getpid, b"".join

    def tell(text):
        data = mark + b" " + text + b"\n"
        while data:
            data = data[write(out, data):]

    streams, kept = {}, []

    def reset():  # what the code did to its streams
        for fd, name in enumerate(("stdin", "stdout", "stderr")):
            now = getattr(sys, name, None)
            try:
                now.flush()
                fine = now is streams[fd] and not now.closed
            except BaseException:
                fine = False
            dup2(out if fd else null, fd)
            if not fine:
                raw = FileIO(fd, "w" if fd else "r", False)
                streams[fd] = TextIOWrapper(raw if fd else BufferedReader(raw), "utf-8", "backslashreplace", write_through=True)
                kept.extend((now, streams[fd]))  # one that is freed while print uses it in another thread crashes python
                setattr(sys, name, streams[fd])
        blocking(out, True)

    def exactly(n):
        parts = []
        while n:
            parts.append(read(take, min(n, 65536)) or leave(70))
            n -= len(parts[-1])
        return join(parts)

    reset()
    tell(b"%d %d" % (me, give))
    while True:
        head = exactly(1)
        while head[-1:] != b"\n":
            head += exactly(1)
        mark, size = head.split()
        calls += 1
        problem = run(exactly(int(size)), "<call %d>" % calls, main.__dict__)
        try:
            reset()
            ok = b"ok" if problem is None else report(problem)
            if getpid() != me:
                leave(0)  # a fork of the interpreter that came to the end of the code
            tell(ok)
        except BaseException:
            leave(70)  # its output is gone for good


def run(code, name, names):
    try:
        code = code.decode()
        linecache.cache[name] = len(code), None, code.splitlines(True), name
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec", 0, True), names)
        if last is not None:  # shown as a terminal would
            exec(compile(ast.Interactive([last]), name, "single", 0, True), names)
    except BaseException as e:
        return e


def report(problem):
    if isinstance(problem, SystemExit):
        sys.stderr.write("[The code ended with sys.exit(%r). The interpreter goes on, with its variables.]\n" % problem.code)
        return b"error" if problem.code else b"ok"
    tb = problem.__traceback__
    while tb is not None and tb.tb_frame.f_code is run.__code__:
        tb = tb.tb_next
    try:
        traceback.print_exception(type(problem), problem, tb)
    except BaseException:
        sys.stderr.write("%s (its traceback could not be printed)\n" % type(problem).__name__)
    return b"error"


serve(os.fsencode(sys.argv[1]))
