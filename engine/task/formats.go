package task

import (
	"fmt"
	"strings"

	"rollbench/engine/task/rows"
)

// format is one family of rows.
type format struct {
	name string
	// columns are those that decide, for messages.
	columns string
	fits    func(r rows.Row) bool
	make    func(r rows.Row, o *Options) (Instance, error)
}

// rowFormats, of which a row fits one. What tells alike ones apart is part of
// fits, so that their order means nothing.
func rowFormats() []format {
	return []format{
		{"swebench", "instance_id, base_commit, FAIL_TO_PASS", func(r rows.Row) bool {
			return r.Has("instance_id", "base_commit", "FAIL_TO_PASS") && !fromSWEGym(r)
		}, swebenchRow},
		{"swe-gym", "instance_id, base_commit, FAIL_TO_PASS, a repo of SWE-Gym", func(r rows.Row) bool {
			return r.Has("instance_id", "base_commit", "FAIL_TO_PASS") && fromSWEGym(r)
		}, sweGymRow},
		{"swe-smith", "instance_id, image_name, FAIL_TO_PASS, no base_commit", func(r rows.Row) bool {
			return r.Has("instance_id", "image_name", "FAIL_TO_PASS") && !r.Has("base_commit")
		}, smithRow},
		{"r2e-gym", "docker_image, commit_hash, expected_output_json", func(r rows.Row) bool {
			return r.Has("docker_image", "commit_hash", "expected_output_json")
		}, r2eRow},
		{"skyrl", "prompt, data_source, instance", func(r rows.Row) bool {
			return r.Has("prompt", "instance") && carriesTask(r)
		}, skyrlRow},
		{"answer", "prompt, reward_model", func(r rows.Row) bool {
			return r.Has("prompt") && (r.Has("reward_model") || r.Has("reward_spec")) && !carriesTask(r)
		}, answerRow},
		{"plain", "id, instruction, verify", func(r rows.Row) bool {
			return r.Has("id", "instruction", "verify")
		}, plainRow},
		{"harbor-rows", "path, task_binary", func(r rows.Row) bool { return r.Has("path", "task_binary") }, harborRow},
		{"terminal-bench-rows", "task_id, task_yaml, archive", func(r rows.Row) bool {
			return r.Has("task_id", "task_yaml", "archive")
		}, terminalRow},
	}
}

// Formats are the names that Options.Format may have.
func Formats() []string {
	var out []string
	for _, l := range layouts() {
		if l.named {
			out = append(out, l.name)
		}
	}
	for _, f := range rowFormats() {
		out = append(out, f.name)
	}
	return out
}

func formatNamed(name string) (format, bool) {
	for _, f := range rowFormats() {
		if f.name == name {
			return f, true
		}
	}
	return format{}, false
}

// detect the format of a row by its columns.
func detect(r rows.Row) (format, error) {
	var fit []format
	for _, f := range rowFormats() {
		if f.fits(r) {
			fit = append(fit, f)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return format{}, unknown(r)
	}
	return format{}, fmt.Errorf("its columns fit %s and %s; say which it is with --format", names(fit[:len(fit)-1]), fit[len(fit)-1].name)
}

func names(list []format) string {
	var out []string
	for _, f := range list {
		out = append(out, f.name)
	}
	return strings.Join(out, ", ")
}
