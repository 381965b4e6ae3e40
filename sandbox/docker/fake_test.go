package docker

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"crypto/sha256"
	"encoding/hex"
)

// fake is an engine of API 1.41 as far as images go. Paths have no version here.
type fake struct {
	t *testing.T
	// pull answers a pull of a name: HTTP status and body.
	pull func(name string) (int, string)

	mu     sync.Mutex
	images map[string]string // ids by the engine's names
	asked  []string          // "METHOD path?query"
	auth   []string          // X-Registry-Auth of pulls
	list   []map[string]any  // what /images/json answers
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v1.41")
	if path == "/_ping" {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/v1.41/") {
		f.t.Errorf("asked for %s of an engine of API 1.41", r.URL.Path)
	}
	f.asked = append(f.asked, r.Method+" "+path+"?"+r.URL.RawQuery)
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if text, ok := v.(string); ok {
			io.WriteString(w, text)
			return
		}
		if err := json.NewEncoder(w).Encode(v); err != nil {
			f.t.Error(err)
		}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(path, "/images/"), "/json")
	switch {
	case path == "/info":
		answer(200, map[string]any{"ServerVersion": "20.10.24", "NCPU": 2, "Images": len(f.images), "PidsLimit": true, "MemoryLimit": true})
	case path == "/containers/json":
		answer(200, []any{})
	case path == "/images/json":
		answer(200, f.list)
	case path == "/images/create":
		f.auth = append(f.auth, r.Header.Get("X-Registry-Auth"))
		from := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
		status, body := f.pull(from)
		if status == 200 && !strings.Contains(body, "errorDetail") {
			f.images[strings.TrimPrefix(strings.TrimPrefix(from, "docker.io/"), "library/")] = "sha256:" + from
		}
		answer(status, body)
	case strings.HasSuffix(path, "/tag"):
		from := strings.TrimSuffix(name, "/tag")
		f.images[strings.TrimPrefix(strings.TrimPrefix(r.URL.Query().Get("repo"), "docker.io/"), "library/")+":"+r.URL.Query().Get("tag")] = f.images[from]
		answer(201, "")
	case r.Method == "DELETE":
		delete(f.images, name)
		answer(200, []any{})
	case strings.HasSuffix(path, "/json"):
		for have, id := range f.images {
			if name == id || same(have, name) {
				answer(200, map[string]any{"Id": id, "RepoTags": []string{have}, "RootFS": map[string]any{"Layers": []string{id}}})
				return
			}
		}
		answer(404, map[string]string{"message": "No such image: " + name})
	default:
		f.t.Errorf("the fake engine was asked for %s %s", r.Method, path)
		answer(500, map[string]string{"message": "unknown"})
	}
}

// serve the fake over TCP, and point the environment at an empty docker config.
func serve(t *testing.T, f *fake) *httptest.Server {
	t.Helper()
	f.t = t
	if f.images == nil {
		f.images = map[string]string{}
	}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("DOCKER_HOST", "tcp://"+s.Listener.Addr().String())
	t.Setenv("DOCKER_TLS_VERIFY", "")
	t.Setenv("DOCKER_CERT_PATH", "")
	t.Setenv("DOCKER_API_VERSION", "")
	return s
}

func provider(t *testing.T, opt Options) *Provider {
	t.Helper()
	p, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// putConfig writes a file of the docker command line's.
func putConfig(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(os.Getenv("DOCKER_CONFIG"), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// contextID is the folder of a docker context.
func contextID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
