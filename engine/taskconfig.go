package engine

import (
	"fmt"
	"slices"
	"strings"

	"rollbench/engine/task"
)

// Tasks is how a dataset is read.
type Tasks struct {
	Format      string `toml:"format" json:"format"` // "" finds it by looking
	Split       string `toml:"split" json:"split"`
	OnBadRow    string `toml:"on_bad_row" json:"on_bad_row"` // error, skip
	ImagePrefix string `toml:"image_prefix" json:"image_prefix"`
	Verifier    string `toml:"verifier" json:"verifier"`           // of answers; "" as data_source says
	Network     bool   `toml:"network" json:"network"`             // where a task has no word about it
	Verify      string `toml:"harbor_verify" json:"harbor_verify"` // shared, fresh
}

// HarborVerify are the values of tasks.harbor_verify.
func HarborVerify() []string { return []string{task.VerifyShared, task.VerifyFresh} }

// OnBadRows are the ways to meet a row that cannot be used.
func OnBadRows() []string { return []string{"error", "skip"} }

func (t Tasks) check() error {
	if t.Format != "" && !slices.Contains(task.Formats(), t.Format) {
		return fmt.Errorf("tasks.format is %q: use one of %s, or \"\" to find it by looking", t.Format, strings.Join(task.Formats(), ", "))
	}
	if !slices.Contains(OnBadRows(), t.OnBadRow) {
		return fmt.Errorf("tasks.on_bad_row is %q: use one of %v", t.OnBadRow, OnBadRows())
	}
	if t.Verifier != "" && !slices.Contains(task.AnswerVerifiers(), t.Verifier) {
		return fmt.Errorf("tasks.verifier is %q: use one of %s, or \"\" for what data_source says", t.Verifier, strings.Join(task.AnswerVerifiers(), ", "))
	}
	if !slices.Contains(HarborVerify(), t.Verify) {
		return fmt.Errorf("tasks.harbor_verify is %q: use one of %v", t.Verify, HarborVerify())
	}
	if strings.ContainsAny(t.ImagePrefix, " \t\n\"'") {
		return fmt.Errorf("tasks.image_prefix is %q: it must be the begin of an image's name, such as \"registry.local:5000/swebench/\"", t.ImagePrefix)
	}
	return nil
}
