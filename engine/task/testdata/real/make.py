#!/usr/bin/env python3
"""usage: make.py FOLDER TREE PATCH...

Makes the generated files of an instance, and the lists in its instance.json:
  FOLDER  has instance.json (FAIL_TO_PASS and PASS_TO_PASS may be missing)
  TREE    the unpacked buggy release, with only what is to be kept of it
  PATCH   upstream's fix and tests, applied with patch -p1 in this order

What the patches change below "test_paths" becomes test.patch, all else
gold.patch; TREE becomes source.tar.gz. Then the tests run in the image IMAGE
(rollbench-test/base:1) with test.patch alone, and with gold.patch beside it:
FAIL_TO_PASS are those that pass only then, PASS_TO_PASS those that pass in both.
"""
import gzip, io, json, os, re, subprocess, sys, tarfile, tempfile

IMAGE = os.environ.get("IMAGE", "rollbench-test/base:1")

# How a runner prints that a test has passed; the group is its name.
PASSED = {
    "pytest": r"^PASSED (\S+)",
    "unittest": r"^(\w+ \(\S+\))(?:\n.*)? \.\.\. ok$",
    "pytest_v2": r"^PASSED (.+)$",
    "ruby_unit": r"^  (\w+):\s+\.: \(",
    "gotest": r"^\s*--- PASS: (\S+)",
}


def sh(where, *argv, **kw):
    return subprocess.run(argv, cwd=where, check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


def pack(tree, file):
    """A tar that is the same whoever makes it: sorted, no times, no owners."""

    def plain(info):
        if info.name.endswith((".pyc", ".orig")) or "__pycache__" in info.name or os.path.basename(info.name) == ".git":
            return None
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(os.listdir(tree)):
            tar.add(os.path.join(tree, name), name, filter=plain)
    with open(file, "wb") as f:
        f.write(gzip.compress(out.getvalue(), 9, mtime=0))


def passed(repo, facts):
    command = " ".join(["cp -r /repo /testbed && cd /testbed &&", facts.get("install", "true"), "&&", facts["test_cmd"], *facts["tests"]])
    run = subprocess.run(["docker", "run", "--rm", "--network", "none", "-v", repo + ":/repo:ro", IMAGE, "bash", "-c", command],
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(run.stdout)
    return set(re.findall(PASSED[facts["log_parser"]], run.stdout, re.M))


def main(folder, tree, *patches):
    at = lambda name: os.path.join(os.path.abspath(folder), name)
    with open(at("instance.json")) as f:
        facts = json.load(f)
    pack(tree, at("source.tar.gz"))
    with tempfile.TemporaryDirectory() as repo:
        sh(repo, "tar", "-xzf", at("source.tar.gz"))
        git = lambda *argv, **kw: sh(repo, "git", "-c", "user.name=x", "-c", "user.email=x", "-c", "core.abbrev=10", *argv, **kw)
        git("init", "-q")
        git("add", "-Af")
        git("commit", "-qm", "base")
        for patch in map(os.path.abspath, patches):
            sh(repo, "patch", "-p1", "--no-backup-if-mismatch", "-i", patch)
        git("add", "-Af")
        paths = facts["test_paths"]
        for name, of in ("test.patch", paths), ("gold.patch", [".", *(":(exclude)" + p for p in paths)]):
            with open(at(name), "w") as f:
                f.write(git("diff", "--cached", "--binary", "HEAD", "--", *of))
        git("reset", "-q", "--hard")
        git("apply", at("test.patch"))
        before = passed(repo, facts)
        git("apply", at("gold.patch"))
        after = passed(repo, facts)
    facts["FAIL_TO_PASS"], facts["PASS_TO_PASS"] = sorted(after - before), sorted(after & before)
    with open(at("instance.json"), "w") as f:
        json.dump(facts, f, indent=1)
        f.write("\n")
    print(len(facts["FAIL_TO_PASS"]), "FAIL_TO_PASS,", len(facts["PASS_TO_PASS"]), "PASS_TO_PASS")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
