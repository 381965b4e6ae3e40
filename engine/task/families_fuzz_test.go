package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Any row gives a whole instance or an error of one line, of whichever family it
// is said to be.
func FuzzFamilies(f *testing.F) {
	files, err := filepath.Glob("testdata/datasets/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(line), uint8(0))
		}
	}
	for i := range rowFormats() {
		f.Add([]byte(`{"instance_id":1,"FAIL_TO_PASS":{},"patch":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y","prompt":[{}],"instance":"{","expected_output_json":{"a":1},"reward_model":"{}","archive":"x"}`), uint8(i+1))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, row []byte, which uint8) {
		file := filepath.Join(dir, "row.jsonl")
		if err := os.WriteFile(file, row, 0o644); err != nil {
			t.Fatal(err)
		}
		o := Options{}
		if all := rowFormats(); which > 0 {
			o.Format = all[int(which-1)%len(all)].name
		}
		ins, err := Load(file, o)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for _, in := range ins {
			if in.ID == "" || in.Format == "" || in.Workdir == "" || in.kind == nil || strings.TrimSpace(in.Instruction) == "" || in.VerifyLimit <= 0 || in.Image == "" && !in.LocalOK {
				t.Errorf("half an instance: %+v", in)
			}
		}
	})
}

func FuzzTerminal(f *testing.F) {
	text, err := os.ReadFile("testdata/datasets/terminal/hello-world/task.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "services: {client: {}}")
	f.Add("instruction: x\nmax_test_timeout_sec: .nan\n", "services:\n- a\n")
	f.Add("a: &a [*a]\n", "x: y")
	f.Add("1: 2\ninstruction: !!binary aGk=\n", "")
	f.Fuzz(func(t *testing.T, text, compose string) {
		folder := fstest.MapFS{"Dockerfile": {Data: []byte("FROM x\n")}, "run-tests.sh": {Data: []byte("true\n")}, "docker-compose.yaml": {Data: []byte(compose)}}
		in, err := loadTerminal(folder, "t", text, merge(nil))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		if strings.TrimSpace(in.Instruction) == "" || in.VerifyLimit <= 0 || in.Image == "" {
			t.Errorf("half an instance: %+v", in)
		}
	})
}

// What unpack reads of any bytes stays within bounds and inside.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("x"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := unpack(data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}
