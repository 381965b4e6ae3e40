package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// tarOf is a stream of these entries, whose content is zeros.
func tarOf(t testing.TB, headers ...tar.Header) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestRewrite(t *testing.T) {
	good := []tar.Header{
		{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}},
		{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "a/b..c", Typeflag: tar.TypeReg, Size: 5, Uid: 9},
		{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "h", Typeflag: tar.TypeLink, Linkname: "a/b..c"},
	}
	var out bytes.Buffer
	if err := rewrite(&out, tarOf(t, good...), 5, 6); err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(&out)
	for _, want := range good[1:] {
		h, err := r.Next()
		if err != nil || h.Name != want.Name || h.Uid != 5 || h.Gid != 6 || h.Size != want.Size || h.Linkname != want.Linkname {
			t.Errorf("%+v %v", h, err)
		}
	}
	for _, bad := range []tar.Header{
		{Name: "../x", Typeflag: tar.TypeReg},
		{Name: "a/../../x", Typeflag: tar.TypeReg},
		{Name: "/etc/x", Typeflag: tar.TypeReg},
		{Name: "h", Typeflag: tar.TypeLink, Linkname: "../x"},
		{Name: "to/x", Typeflag: tar.TypeReg},
		{Name: "h", Typeflag: tar.TypeLink, Linkname: "to/x"},
		{Name: "d", Typeflag: tar.TypeChar},
		{Name: "f", Typeflag: tar.TypeFifo},
	} {
		if err := rewrite(io.Discard, tarOf(t, tar.Header{Name: "to", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, bad), 0, 0); !errors.Is(err, errEntry) || !strings.Contains(err.Error(), bad.Name) {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
	if err := rewrite(io.Discard, strings.NewReader("no tar at all"), 0, 0); err == nil {
		t.Error("no tar was accepted")
	}
}

// The report is taken out of the output wherever the stream is cut.
func TestReportReader(t *testing.T) {
	const marker = "0123456789abcdef"
	for _, tt := range []struct {
		in, out string
		code    int
	}{
		{"hello\n" + marker + "0;", "hello\n", 0},
		{marker + "137;", "", 137},
		{"01234" + marker + "3;later", "01234later", 3},
		{"no report 0123", "no report 0123", -1},
		{marker + "1", marker + "1", -1},
	} {
		for size := 1; size <= len(tt.in); size++ {
			var out bytes.Buffer
			r := &reportReader{out: &out, marker: []byte(marker), code: make(chan int, 1)}
			for piece := range slices.Chunk([]byte(tt.in), size) {
				if n, err := r.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := r.flush(); err != nil {
				t.Fatal(err)
			}
			code := -1
			select {
			case code = <-r.code:
			default:
			}
			if out.String() != tt.out || code != tt.code {
				t.Errorf("pieces of %d: %q %d, want %q %d", size, out.String(), code, tt.out, tt.code)
			}
		}
	}
	// A shell that quotes its own script does not report.
	if argv := reporting(marker, []string{"x"}); strings.Contains(strings.Join(argv, " "), marker) {
		t.Error("the marker stands in the script as a whole")
	}
}

// FuzzPrintf runs the command in a real shell.
func FuzzPrintf(f *testing.F) {
	for _, seed := range []string{"", "plain\n", "100% \\n 'x' \x00\r\n\xff", "-v x", "$HOME `id`", "\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, shell := range []string{"/bin/sh", "/bin/bash"} {
			cmd := exec.Command(shell, "-s")
			cmd.Stdin = strings.NewReader("LC_ALL=C\n" + printf(data) + "\n")
			out, err := cmd.Output()
			if err != nil || !bytes.Equal(out, data) {
				t.Errorf("%s: %q became %q, %v", shell, data, out, err)
			}
		}
	})
}

func TestParseStat(t *testing.T) {
	// 81a4 = 0100644, 41ed = 040755, a1ff = 0120777, 89ed = 0104755
	for text, want := range map[string]fs.FileMode{
		"81a4 12 1700000000": 0o644,
		"41ed 0 0":           fs.ModeDir | 0o755,
		"a1ff 3 0":           fs.ModeSymlink | 0o777,
		"89ed 3 0":           fs.ModeSetuid | 0o755,
	} {
		info, err := parseStat("x", text)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", text, info, err)
		}
	}
	info, err := parseStat("x", "81a4 12 1700000000")
	if err != nil || info.Size() != 12 || !info.ModTime().Equal(time.Unix(1700000000, 0)) || info.IsDir() {
		t.Errorf("%+v %v", info, err)
	}
	for _, bad := range []string{"", "81a4 12", "zz 1 1", "81a4 x 1"} {
		if _, err := parseStat("x", bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	for _, mode := range []fs.FileMode{0o644, fs.ModeSetuid | 0o755, fs.ModeSticky | 0o777} {
		if got := fileMode(unixMode(mode) | 0o100000); got != mode {
			t.Errorf("%v became %v", mode, got)
		}
	}
}

func TestReadProgress(t *testing.T) {
	var lines []string
	tell := func(l string) { lines = append(lines, l) }
	seen := 0
	err := readProgress(strings.NewReader(`{"status":"Pulling from x","id":"1"}
{"stream":"Step 1/2 : FROM x\n"}
{"stream":"\n"}
{"stream":" ---\u003e Running in 57a7ce3c8b20\n"}
{"stream":"Removing intermediate container 57a7ce3c8b20\n"}
{"stream":" ---\u003e Using cache\n"}
{"stream":" ---\u003e f0943ec8a0ee\n"}
{"stream":"Successfully built f0943ec8a0ee\n"}
{"status":"Digest: y"}`), func(message) { seen++ }, tell)
	if want := []string{"Step 1/2 : FROM x", "---> Using cache"}; err != nil || !slices.Equal(lines, want) || seen != 9 {
		t.Errorf("%q %d %v", lines, seen, err)
	}
	err = readProgress(strings.NewReader(`{"errorDetail":{"message":"no\n such"},"error":"no\n such"}`), func(message) {}, tell)
	if err == nil || err.Error() != "no such" {
		t.Error(err)
	}
	if err = readProgress(strings.NewReader(`{"status":`), func(message) {}, tell); err == nil {
		t.Error("a cut stream was accepted")
	}
}

func TestEndpoint(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := func() (string, error) {
		p, err := New(t.Context(), Options{})
		if err != nil {
			return "", err
		}
		defer p.Close()
		return p.engine.DaemonHost(), nil
	}
	meta := func(name string) string {
		sum := sha256.Sum256([]byte(name))
		return "contexts/meta/" + hex.EncodeToString(sum[:]) + "/meta.json"
	}
	if got, err := host(); err != nil || got != "unix:///var/run/docker.sock" {
		t.Error(got, err)
	}
	put("config.json", `{"currentContext":"mine"}`)
	if _, err := host(); err == nil || !strings.Contains(err.Error(), `docker context "mine"`) {
		t.Error(err)
	}
	put(meta("mine"), `{"Name":"mine","Endpoints":{"docker":{"Host":"unix:///run/mine.sock"}}}`)
	if got, err := host(); err != nil || got != "unix:///run/mine.sock" {
		t.Error(got, err)
	}
	put(meta("far"), `{"Name":"far","Endpoints":{"docker":{"Host":"ssh://far"}}}`)
	t.Setenv("DOCKER_CONTEXT", "far")
	if got, err := host(); err != nil || got != "http://far" { // through ssh
		t.Error(got, err)
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
	if got, err := host(); err != nil || got != "tcp://127.0.0.1:2375" {
		t.Error(got, err)
	}
	put("config.json", `{"currentContext":`)
	if _, err := host(); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Error(err)
	}
}

func TestCredentials(t *testing.T) {
	login := func(c credentials, name string) string {
		t.Helper()
		found, err := c.find(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			return ""
		}
		return found.Username + ":" + found.Password + ":" + found.IdentityToken
	}
	helper := func(_ context.Context, helper, verb, input string) ([]byte, error) {
		switch helper + " " + verb + " " + input {
		case "store list ":
			return []byte(`{"https://index.hub.example/v1/": "u"}`), nil
		case "store get https://index.hub.example/v1/":
			return []byte(`{"Username":"u","Secret":"stored"}`), nil
		case "special get own.example":
			return []byte(`{"Username":"<token>","Secret":"tok"}`), nil
		}
		return nil, errors.New("asked " + helper + verb + input)
	}
	c := credentials{run: helper, config: configFile{
		CredsStore:  "store",
		CredHelpers: map[string]string{"own.example": "special"},
		Auths:       map[string]authEntry{"plain.example:5000": {Auth: "bWU6cDpx"}, "broken.example": {Auth: "!"}}, // me:p:q
	}}
	for name, want := range map[string]string{
		"hub.example": "u:stored:", "own.example": "::tok", "plain.example:5000": "me:p:q:", "none.example": "",
	} {
		if got := login(c, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := c.find(t.Context(), "broken.example"); err == nil || !strings.Contains(err.Error(), "docker login") {
		t.Error(err)
	}
}

// Callers of one key share the work; it stops when the last has left.
func TestFlights(t *testing.T) {
	var f flights
	entered, stopped := make(chan struct{}), make(chan struct{})
	work := func(ctx context.Context, tell func(string)) error {
		close(entered)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}
	first, leave1 := context.WithCancel(t.Context())
	second, leave2 := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { errs <- f.do(first, t.Context(), "k", nil, work) }()
	<-entered
	go func() { errs <- f.do(second, t.Context(), "k", nil, work) }()
	for joined := false; !joined; {
		f.mu.Lock()
		joined = f.running["k"].waiting == 2
		f.mu.Unlock()
	}
	leave1()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-stopped:
		t.Error("the work stopped while one waits")
	default:
	}
	leave2()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-stopped
	f.wait()
	if err := f.do(t.Context(), t.Context(), "k", nil, func(context.Context, func(string)) error { return nil }); err != nil {
		t.Error(err)
	}
}

// FuzzReport: whatever the output, it comes through unchanged around the report.
func FuzzReport(f *testing.F) {
	f.Add([]byte("out"), []byte("later"), uint8(3), uint8(7))
	f.Add([]byte("0123456789abcde"), []byte(";"), uint8(255), uint8(1))
	f.Fuzz(func(t *testing.T, before, after []byte, code, size uint8) {
		const marker = "0123456789abcdef"
		if bytes.Contains(before, []byte(marker)) {
			return
		}
		stream := slices.Concat(before, []byte(marker+strconv.Itoa(int(code))+";"), after)
		if bytes.Index(stream, []byte(marker)) != len(before) {
			return // before and the marker together make an earlier one
		}
		var out bytes.Buffer
		r := &reportReader{out: &out, marker: []byte(marker), code: make(chan int, 1)}
		for piece := range slices.Chunk(stream, int(size)+1) {
			if _, err := r.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-r.code; got != int(code) || !bytes.Equal(out.Bytes(), slices.Concat(before, after)) {
			t.Errorf("code %d, output %q", got, out.Bytes())
		}
	})
}

// Who asks first hears the first word, however soon it comes.
func TestFlightsFirstWord(t *testing.T) {
	var f flights
	for range 2000 {
		var said []string
		err := f.do(t.Context(), t.Context(), "x", func(line string) { said = append(said, line) }, func(_ context.Context, tell func(string)) error {
			tell("first")
			return nil
		})
		if err != nil || len(said) != 1 {
			t.Fatalf("%q %v", said, err)
		}
	}
	f.wait()
}

// What helps hangs on the system: only Linux has a service to start, and local sandboxes.
func TestFixFor(t *testing.T) {
	away := client.ErrorConnectionFailed("unix:///x")
	for _, c := range []struct {
		err          error
		system, want string
	}{
		{away, "linux", "start the engine (systemctl start docker), or name one in DOCKER_HOST, or use --sandbox local for tasks that allow it"},
		{away, "darwin", "start Docker Desktop, Colima or another engine, or name one in DOCKER_HOST"},
		{fs.ErrPermission, "linux", "add yourself to the group docker and log in again, or use --sandbox local for tasks that allow it"},
		{errors.New("ssh far: exit status 255"), "darwin", "see what the engine says above"},
	} {
		if got := fixFor(c.err, c.system); got != c.want {
			t.Errorf("%v on %s: %s", c.err, c.system, got)
		}
	}
}
