package task

import (
	"archive/tar"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rollbench/sandbox"
)

func folderOf(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return m
}

// composeTask is a Harbor task with a compose file.
func composeTask(t *testing.T, text string, more map[string]string) (Instance, error) {
	t.Helper()
	files := harborFiles(map[string]string{"environment/docker-compose.yaml": text, "environment/Dockerfile": "FROM x\nWORKDIR /w\n"})
	for name, content := range more {
		files[name] = content
	}
	return loadHarbor(folderOf(files), "web", "here", Options{Getenv: func(string) (string, bool) { return "", false }})
}

func namesIn(t *testing.T, f sandbox.File) (names []string) {
	t.Helper()
	stream, err := f.Tar()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestHarborCompose(t *testing.T) {
	in, err := composeTask(t, `
services:
  main:
    image: ${MAIN_IMAGE_NAME}
    build: {context: "${CONTEXT_DIR}"}
    command: ["sh", "-c", "sleep infinity"]
    working_dir: /from-compose
    environment: {A: compose, FROM: compose}
    depends_on: {db: {condition: service_healthy}}
    volumes:
      - ${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}
      - ./page.txt:/etc/page.txt:ro
      - ./data:/data
    deploy: {resources: {limits: {cpus: "${CPUS}", memory: "${MEMORY}"}}}
  db:
    build: {context: ./db, args: {V: 2}, dockerfile: Other, target: last}
    environment: {PASSWORD: "${SECRET:-s}"}
    healthcheck: {test: ready, interval: 1s}
    volumes: ["./data:/var/lib", "${HOST_ARTIFACTS_PATH}:/out", "./none:/none", "../tests:/grade"]
  same: {image: "${MAIN_IMAGE_NAME}", command: [python3, serve.py], network_mode: none}
`, map[string]string{
		"task.toml":                        "[environment]\nallow_internet = true\ncpus = 3\nmemory_mb = 512\n[environment.env]\nA = \"toml\"\n",
		"environment/db/Other":             "FROM y\n",
		"environment/page.txt":             "page",
		"environment/data/rows/first.json": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if in.CPUs != 3 || in.MemoryMB != 512 || !in.Network || in.Env["A"] != "toml" || in.Env["FROM"] != "compose" || in.Workdir != "/from-compose" || !strings.HasPrefix(in.Image, "rollbench/env-web:") || in.Build == nil {
		t.Errorf("main %+v", in)
	}
	b := in.Spec(sandbox.Docker).Beside
	if b == nil || b != in.Beside || in.Spec(sandbox.Local).Beside != nil {
		t.Fatalf("%+v", b)
	}
	if b.Start != nil || !reflect.DeepEqual(b.After, []sandbox.Dependency{{Service: "db", Until: sandbox.Healthy}}) || !reflect.DeepEqual(b.Names, []string{"main"}) {
		t.Errorf("main's part %+v", b)
	}
	if want := []sandbox.Volume{{Name: "files-environment/data", Target: "/data"}, {Name: "logs-artifacts", Target: "/logs/artifacts"}}; !reflect.DeepEqual(b.Mounts, want) {
		t.Errorf("main's mounts %+v", b.Mounts)
	}
	if len(b.Files) != 2 || b.Files[0].Target != "/etc/page.txt" || !b.Files[0].One || b.Files[1].Target != "/data" || !reflect.DeepEqual(namesIn(t, b.Files[1]), []string{"rows/first.json"}) {
		t.Errorf("main's files %+v", b.Files)
	}
	db, same := b.Companions[0], b.Companions[1]
	if want := []sandbox.Volume{{Name: "files-environment/data", Target: "/var/lib"}, {Name: "logs-artifacts", Target: "/out"}}; !reflect.DeepEqual(db.Mounts, want) {
		t.Errorf("db's mounts %+v", db.Mounts)
	}
	if len(db.Files) != 2 || db.Files[0].Target != "/none" || len(namesIn(t, db.Files[0])) != 0 || db.Files[1].Target != "/grade" || !reflect.DeepEqual(namesIn(t, db.Files[1]), []string{"test.sh"}) {
		t.Errorf("db's files %+v", db.Files)
	}
	if db.Build.Dockerfile != "Other" || db.Build.Target != "last" || db.Build.Args["V"] != "2" || db.Env["PASSWORD"] != "s" || !strings.HasPrefix(db.Image, "rollbench/env-web-db:") || db.Health.Interval != time.Second {
		t.Errorf("db %+v", db)
	}
	if same.Image != in.Image || same.Build != in.Build || !same.Alone || same.Command[0] != "python3" {
		t.Errorf("same %+v", same)
	}
	if mb := b.MemoryMB(100); mb != 200 {
		t.Errorf("companions take %d MB", mb)
	}
}

// A compose file that says no more than Harbor does itself is no companion.
func TestTrivialCompose(t *testing.T) {
	for _, text := range []string{
		"services: {main: {build: ., command: sleep infinity, volumes: ['${HOST_AGENT_LOGS_PATH}:${ENV_AGENT_LOGS_PATH}']}}",
		"services: {main: {entrypoint: [/bin/sh, -c], command: ['sleep infinity'], ports: ['80']}}",
		"services: {main: {command: tail -f /dev/null}}",
		"services: {main: {command: bash, tty: true, stdin_open: true}}",
	} {
		if in, err := composeTask(t, text, nil); err != nil || in.Beside != nil {
			t.Errorf("%s: %+v, %v", text, in.Beside, err)
		}
	}
	in, err := composeTask(t, "services: {main: {command: [/start, now]}}", nil)
	if err != nil || in.Beside == nil || !reflect.DeepEqual(in.Beside.Start, &sandbox.Program{Command: []string{"/start", "now"}}) {
		t.Errorf("%+v, %v", in.Beside, err)
	}
}

func TestComposeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"services: {main: {volumes: ['../tests:/t']}}":    "service main: volumes: tests would show the policy what it is judged by",
		"services: {main: {volumes: ['../solution:/t']}}": "solution would show the policy",
		"services: {main: {volumes: ['..:/t']}}":          "would show the policy",
		"services: {db: {image: x, privileged: yes}}":     "environment/docker-compose.yaml: line 1: service db: privileged: it is refused",
	} {
		if in, err := composeTask(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, in.Beside, err, want)
		}
	}
	_, err := composeTask(t, "services: {main: {build: ../tests}}", map[string]string{"tests/Dockerfile": "FROM x\n"})
	if err == nil || !strings.Contains(err.Error(), "service main: build.context: tests would show the policy what it is judged by") {
		t.Error(err)
	}
	_, err = composeTask(t, "services: {db: {image: x}}", map[string]string{"task.toml": "[metadata.rollbench]\nlocal = true\n", "environment/repo.tar.gz": "x"})
	if err == nil || !strings.Contains(err.Error(), "a local sandbox has no companions") {
		t.Error(err)
	}
	in, err := composeTask(t, "services: {db: {image: x}}", map[string]string{"task.toml": "[environment]\nallow_internet = true\n"})
	if err != nil || !in.Network || len(in.Beside.Companions) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	in, err = composeTask(t, "services: {main: {network_mode: none}, db: {image: x}}", map[string]string{"task.toml": "[environment]\nallow_internet = true\n"})
	if err != nil || in.Network {
		t.Errorf("%+v, %v", in, err)
	}
}

// Old terminal-bench tasks always have a compose file; most say nothing by it.
func TestTerminalCompose(t *testing.T) {
	const client = `
  client:
    build: {dockerfile: Dockerfile}
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["TEST_DIR=${T_BENCH_TEST_DIR}"]
    volumes: ["${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}", "${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}"]
`
	load := func(compose string) (Instance, error) {
		return loadTerminal(folderOf(map[string]string{"docker-compose.yaml": compose, "Dockerfile": "FROM x\nWORKDIR /here\n", "run-tests.sh": "true",
			"api/Dockerfile": "FROM y\n"}), "tb", "instruction: Say hello.\n", Options{})
	}
	in, err := load("services:" + client)
	if err != nil || in.Beside != nil || in.Workdir != "/here" || in.Env["TEST_DIR"] != "/tests" || len(in.Warnings) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	in, err = load("services:" + client + "    depends_on: [api]\n  api:\n    build: ./api\n    container_name: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__api\n    volumes: ['${T_BENCH_TASK_LOGS_PATH}:/shared']\n")
	if err != nil || len(in.Beside.Companions) != 1 || !reflect.DeepEqual(in.Beside.Companions[0].Names, []string{"api", "tb__api"}) ||
		!reflect.DeepEqual(in.Beside.Mounts, []sandbox.Volume{{Name: "logs-logs", Target: "/logs"}}) {
		t.Errorf("%+v, %v", in.Beside, err)
	}
}

// The image is made of the folder without what the policy is judged by.
func TestBuildContext(t *testing.T) {
	folder := folderOf(map[string]string{"Dockerfile": "FROM x\n", "tests/t.py": "", "solution/s.sh": "", "solution.sh": "", "run-tests.sh": "", "src/tests/own.py": ""})
	context, err := buildContext(folder, ".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := eachFile(context, func(name string, _ fs.FileMode, _ func() (io.ReadCloser, error)) error {
		names = append(names, name)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(names, []string{"Dockerfile", "src/tests/own.py"}) {
		t.Errorf("%q", names)
	}
}
