package docker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"rollbench/sandbox"
)

// store serves one small image of one layer, under whatever name it is asked for,
// by the pull half of the OCI distribution specification. Engines take registries of
// 127.0.0.0/8 without TLS.
type store struct {
	blobs    map[string][]byte // by digest
	manifest []byte

	mu    sync.Mutex
	asked []string // names with their tags
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// serveRegistry returns it and its host:port. The layer holds 3 MiB that do not shrink, so
// that it has a little more.
func serveRegistry(t *testing.T) (*store, string) {
	t.Helper()
	data := make([]byte, 3<<20)
	rand.Read(data)
	var plain, packed bytes.Buffer
	tw := tar.NewWriter(&plain)
	if err := tw.WriteHeader(&tar.Header{Name: "data", Mode: 0o644, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	tw.Write(data)
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	zw := gzip.NewWriter(&packed)
	zw.Write(plain.Bytes())
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	config := fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","config":{"Labels":{"rollbench.test":%q}},"rootfs":{"type":"layers","diff_ids":[%q]}}`, testRun, digest(plain.Bytes()))
	r := &store{blobs: map[string][]byte{digest(config): config, digest(packed.Bytes()): packed.Bytes()}}
	var err error
	r.manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
		"config": map[string]any{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": packed.Len(), "digest": digest(packed.Bytes())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.Listener.Addr().String()
}

func (r *store) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	name, rest, blob := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/"), "/blobs/")
	if blob {
		data, ok := r.blobs[rest]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data)
		return
	}
	if name, rest, manifest := strings.Cut(name, "/manifests/"); manifest {
		if !strings.HasPrefix(rest, "sha256:") {
			r.mu.Lock()
			r.asked = append(r.asked, name+":"+rest)
			r.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
		w.Header().Set("Docker-Content-Digest", digest(r.manifest))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.manifest)))
		if q.Method == http.MethodGet {
			w.Write(r.manifest)
		}
	}
}

func (r *store) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.asked = nil }()
	slices.Sort(r.asked)
	return slices.Compact(r.asked)
}

// A real engine pulls from a registry: by the name that has it, and names of docker.io
// from the mirror, which then have their own name and no other. What is there is not
// asked for again, whoever has brought it.
func TestPullFromARegistry(t *testing.T) {
	r, host := serveRegistry(t)
	p := engine(t, Options{Mirror: host + "/hub"})
	own := "rollbench-pulled-" + strings.ToLower(testRun) + ":1"
	direct := host + "/swebench/sweb.eval.x86_64." + strings.ToLower(testRun) + ":latest"
	t.Cleanup(func() {
		for _, n := range []string{own, direct} {
			if _, err := p.removeImage(context.Background(), n); err != nil {
				t.Error(err)
			}
		}
	})
	for _, c := range []struct{ image, asked, from string }{
		{own, "hub/library/" + own, host + "/hub/library/" + own},
		{direct, strings.TrimPrefix(direct, host+"/"), direct},
	} {
		var said []string
		spec := sandbox.Spec{Image: c.image, Progress: func(l string) { said = append(said, l) }}
		if err := p.EnsureImage(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if got := r.names(); !slices.Equal(got, []string{c.asked}) {
			t.Errorf("%s: asked for %q", c.image, got)
		}
		if said[0] != "pulling "+c.from || said[len(said)-1] != "pulled "+c.from {
			t.Errorf("%s: %q", c.image, said)
		}
		// The second name is of layers that are there.
		if c.image == own && !slices.Contains(said, "pulling "+c.from+": 1 of 1 layers, 4 of 4 MB, 100 %") {
			t.Errorf("%s: %q", c.image, said)
		}
		said = nil
		if err := p.EnsureImage(t.Context(), spec); err != nil || len(r.names()) != 0 || len(said) != 0 {
			t.Errorf("%s: asked for again: %q, %v", c.image, said, err)
		}
	}
	info, err := p.engine.ImageInspect(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(info.RepoTags, host+"/hub/library/"+own) || !slices.Contains(info.RepoTags, own) {
		t.Errorf("names %q", info.RepoTags)
	}
}
