package task

import (
	"strings"
	"time"

	"rollbench/engine/task/rows"
)

// carriesTask reports whether a row of SkyRL holds the row of another family:
// its column instance is then that row. (In rows of questions it may hold the
// answer.)
func carriesTask(r rows.Row) bool {
	inner, given, err := r.Object("instance")
	return err == nil && given && (inner.Has("instance_id") || inner.Has("docker_image"))
}

// skyrlRow is a row that SkyRL-Agent trains on: {prompt, data_source, instance}.
// Its data_source says which family instance is of.
func skyrlRow(r rows.Row, o *Options) (Instance, error) {
	inner, given, err := r.Object("instance")
	if err != nil {
		return Instance{}, err
	}
	if !given {
		return Instance{}, r.Wrong("instance", "is missing; it is the problem that a SkyRL row carries")
	}
	source, err := r.Text("data_source")
	if err != nil {
		return Instance{}, err
	}
	if !inner.Given("problem_statement") {
		prompt, err := promptText(r)
		if err != nil {
			return Instance{}, err
		}
		inner.Set("problem_statement", prompt)
	}
	switch source = strings.ToLower(source); {
	case strings.Contains(source, "r2e"):
		return r2eRow(inner, o)
	case strings.Contains(source, "swe-smith"):
		return smithRow(inner, o)
	case inner.Given("eval_script") && !inner.Given("FAIL_TO_PASS"):
		return scriptRow(inner, source, o)
	case strings.Contains(source, "swe-gym"):
		return sweGymRow(inner, o)
	}
	if fromSWEGym(inner) {
		return sweGymRow(inner, o)
	}
	image, err := imageOr(inner, o, "docker.io/xingyaoww/") // where SkyRL-Agent takes SWE-bench's
	if err != nil {
		return Instance{}, err
	}
	inner.Set("image", image)
	return swebenchRow(inner, o)
}

// imageOr is the row's own image, else the one that is published under a prefix.
func imageOr(r rows.Row, o *Options, published string) (string, error) {
	for _, column := range []string{"image", "image_name", "docker_image"} {
		if r.Given(column) {
			return r.Text(column)
		}
	}
	id, err := r.Need("instance_id", "its image is named after it")
	return evalImage(id, o.ImagePrefix, published), err
}

// scriptRow is a row of SkyRL's mini-swe example: the reward is the exit code of
// the script that it brings.
func scriptRow(r rows.Row, source string, o *Options) (Instance, error) {
	if err := needed(r, "instance_id", "problem_statement", "eval_script"); err != nil {
		return Instance{}, err
	}
	var id, repo, base, patch, statement, script string
	for _, one := range []struct {
		name string
		into *string
	}{{"instance_id", &id}, {"repo", &repo}, {"base_commit", &base}, {"patch", &patch}, {"problem_statement", &statement}, {"eval_script", &script}} {
		text, err := r.Text(one.name)
		if err != nil {
			return Instance{}, err
		}
		*one.into = text
	}
	if base != "" && !isCommit(base) {
		return Instance{}, r.Wrong("base_commit", "is %q; it must be a commit id in hexadecimal", base)
	}
	published := "docker.io/xingyaoww/"
	if strings.Contains(source, "swe-bench") {
		published = "docker.io/swebench/"
	}
	image, err := imageOr(r, o, published)
	return Instance{
		ID: id, Workdir: defaultWorkdir, Image: image, Repo: repo, Network: o.Network, VerifyLimit: scriptLimit, Env: condaEnv(image, "pytest"),
		Instruction: rowInstruction(repo, defaultWorkdir, issueText(statement)), Reference: Reference{Patch: []byte(patch)},
		kind: &plain{command: script, at: base, bash: true},
	}, err
}

// scriptLimit is the example's for one evaluation.
const scriptLimit = 3600 * time.Second
