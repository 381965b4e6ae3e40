package tamper

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// ofCommand tells the signs of one command.
func (t Task) ofCommand(c command, tell func(kind, what string)) {
	if len(c.words) > 0 {
		name, args := path.Base(c.words[0]), c.words[1:]
		switch {
		case name == "git" && t.gitLooksAhead(args), t.fetches(name, args), slices.ContainsFunc(args, insideGit):
			tell(LookAhead, c.text)
		case name == "git" && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.ToLower(a), "core.hookspath") }) && len(args) > 2:
			tell(Hooks, c.text)
		}
	}
	for _, file := range c.written() {
		if kind := t.ofWritten(file); kind != "" {
			tell(kind, c.text)
		}
	}
}

// gitLooksAhead reports whether a command of git shows what the base does not lead to.
func (t Task) gitLooksAhead(args []string) bool {
	args = gitCommand(args)
	if len(args) == 0 {
		return false
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool {
			a, _, _ = strings.Cut(a, "=")
			return slices.Contains(flags, a)
		})
	}
	switch args[0] {
	case "reflog", "fetch", "pull", "ls-remote", "fsck", "lost-found", "unpack-objects", "unpack-file", "verify-pack", "show-index":
		return true
	case "log", "show", "rev-list", "shortlog", "grep", "diff", "whatchanged", "bundle":
		return has("--all", "--branches", "--remotes", "--tags", "--reflog", "-g", "--walk-reflogs") || slices.ContainsFunc(args[1:], remoteRef)
	case "checkout", "switch", "restore", "reset", "cherry-pick", "merge", "rebase", "cat-file", "rev-parse":
		return has("--batch-all-objects") || slices.ContainsFunc(args[1:], remoteRef)
	case "remote":
		return len(args) > 1 && slices.Contains([]string{"add", "update", "set-url"}, args[1])
	case "clone":
		return slices.ContainsFunc(args[1:], t.upstream)
	}
	return false
}

// gitCommand is what stands behind the options of git itself.
func gitCommand(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[0]) && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	return args
}

func remoteRef(arg string) bool {
	return strings.HasPrefix(arg, "origin/") || strings.HasPrefix(arg, "upstream/") || strings.Contains(arg, "FETCH_HEAD") ||
		strings.Contains(arg, "refs/remotes/") || strings.Contains(arg, "..origin/")
}

// insideGit reports whether an argument names one of git's files that tell of later commits.
func insideGit(arg string) bool {
	_, inside, found := strings.Cut(arg, ".git/")
	for _, name := range []string{"packed-refs", "ORIG_HEAD", "FETCH_HEAD", "logs", "lost-found", "refs/remotes", "refs/stash", "objects/pack"} {
		if found && strings.HasPrefix(inside, name) {
			return true
		}
	}
	return false
}

// packages is the part of a command of a package manager that says it fetches.
var packages = map[string][]string{
	"pip": {"download", "install", "wheel"}, "pip3": {"download", "install", "wheel"}, "uv": {"add", "install", "download"}, "easy_install": {""},
	"conda": {"install"}, "npm": {"pack", "install", "i", "view", "add"}, "yarn": {"add"}, "pnpm": {"add"},
	"go": {"get", "download", "install"}, "cargo": {"add", "install", "fetch"}, "gem": {"install", "fetch", "unpack"}, "composer": {"require"}, "apt-get": {"source", "download"},
}

var version = regexp.MustCompile(`[=<>!~@\[;].*$`)

// fetches reports whether a command gets the repository, or a release of it, from
// where it is published.
func (t Task) fetches(name string, args []string) bool {
	if strings.HasPrefix(name, "python") && len(args) > 1 && args[0] == "-m" { // python -m pip
		name, args = args[1], args[2:]
	}
	if name == "gh" && len(args) > 0 {
		return true // it talks to the forge and does nothing else
	}
	if name == "curl" || name == "wget" || name == "http" || name == "aria2c" || strings.HasPrefix(name, "python") {
		return slices.ContainsFunc(args, t.upstream)
	}
	verbs := packages[name]
	if len(verbs) == 0 || !slices.ContainsFunc(verbs, func(v string) bool { return v == "" || slices.Contains(args, v) }) {
		return false
	}
	return slices.ContainsFunc(args, func(a string) bool {
		return t.upstream(a) || t.project() != "" && same(version.ReplaceAllString(a, ""), t.project()) ||
			t.Repo != "" && strings.HasPrefix(strings.ToLower(a), "github.com/"+strings.ToLower(t.Repo))
	})
}

// project is the last part of the repository's name.
func (t Task) project() string { return t.Repo[strings.LastIndexByte(t.Repo, '/')+1:] }

// same name of a package: registries take - and _ for one.
func same(a, b string) bool {
	plain := strings.NewReplacer("_", "-", ".", "-")
	return a != "" && strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

// upstream reports whether a text holds an address of the repository or its releases.
func (t Task) upstream(text string) bool {
	text = strings.ToLower(text)
	if t.Repo == "" || !strings.Contains(text, "://") && !strings.Contains(text, "git@") {
		return false
	}
	repo, project := strings.ToLower(t.Repo), strings.ToLower(t.project())
	for _, part := range []string{"/" + repo, ":" + repo, "pypi.org/project/" + project, "pypi.org/pypi/" + project, "pypi.org/simple/" + project,
		"/" + project + "-", "registry.npmjs.org/" + project, "proxy.golang.org/github.com/" + repo} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// written are the files that a command writes, as far as its words say.
func (c command) written() []string {
	out := slices.Clone(c.writes)
	if len(c.words) < 2 {
		return out
	}
	var args []string
	for _, a := range c.words[1:] {
		if !strings.HasPrefix(a, "-") {
			args = append(args, a)
		}
	}
	switch path.Base(c.words[0]) {
	case "tee", "touch":
		out = append(out, args...)
	case "cp", "mv", "install", "ln":
		if len(args) > 1 {
			target := args[len(args)-1]
			if alike(path.Base(args[0]), path.Base(target)) {
				return out // python for python3
			}
			out = append(out, target)
		}
	case "sed", "perl":
		if slices.ContainsFunc(c.words, func(a string) bool { return strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "-pi") }) && len(args) > 1 {
			out = append(out, args[1:]...)
		}
	case "chmod":
		if len(args) > 1 && (strings.Contains(args[0], "x") || strings.Trim(args[0], "01234567") == "") {
			out = append(out, args[1:]...)
		}
	}
	return out
}

// alike names differ in a version at most.
func alike(a, b string) bool {
	return strings.TrimRight(a, "0123456789.") == strings.TrimRight(b, "0123456789.")
}

// ofWritten is the kind of sign that a file is which a call wrote, "" for none. What
// the patch shows anyway is told of the patch.
func (t Task) ofWritten(file string) string {
	base, dir := path.Base(file), path.Dir(file)
	switch {
	case slices.ContainsFunc(t.Verifier, func(v string) bool { return file == v || strings.HasPrefix(file, v+"/") }):
		return Verifier
	case strings.Contains(file, ".git/hooks/") && !strings.HasSuffix(base, ".sample"):
		return Hooks
	case runners[base] && (path.Base(dir) == "bin" || path.Base(dir) == "sbin"):
		return Runner
	case strings.Contains(dir+"/", "__pycache__/") && strings.HasSuffix(base, ".pyc"):
		return Runner
	case startup(file) && strings.Contains(file, "-packages/"):
		return Startup
	}
	return ""
}
