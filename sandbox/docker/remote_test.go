package docker

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// The API version is the older of both; mounts of another machine's engine are
// judged by their names only.
func TestRemoteEngine(t *testing.T) {
	f := &fake{}
	s := serve(t, f)
	host := os.Getenv("DOCKER_HOST")
	t.Setenv("DOCKER_HOST", "")
	putConfig(t, "config.json", `{"currentContext":"far"}`)
	putConfig(t, "contexts/meta/"+contextID("far")+"/meta.json", `{"Name":"far","Endpoints":{"docker":{"Host":"`+host+`"}}}`)
	p := provider(t, Options{})
	if r := p.Check(t.Context()); !r.OK || !strings.HasPrefix(r.Detail, "docker 20.10.24, API 1.41, ") {
		t.Errorf("%+v", r)
	}
	if p.engine.DaemonHost() != "tcp://"+s.Listener.Addr().String() || !p.remote() {
		t.Error(p.engine.DaemonHost())
	}
	spec := sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{{Source: "/only/there", Target: "/x"}}}
	if err := p.mayShow(&spec); err != nil {
		t.Error(err)
	}
	spec.Mounts[0].Source = "/var/run/docker.sock"
	if err := p.mayShow(&spec); err == nil || !strings.Contains(err.Error(), "a way out") {
		t.Error(err)
	}
}

// A context's TLS files are used, and needed.
func TestContextTLS(t *testing.T) {
	f := &fake{}
	serve(t, f)
	s := httptest.NewTLSServer(f)
	t.Cleanup(s.Close)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "safe")
	putConfig(t, "contexts/meta/"+contextID("safe")+"/meta.json", `{"Name":"safe","Endpoints":{"docker":{"Host":"tcp://`+s.Listener.Addr().String()+`"}}}`)
	p := provider(t, Options{})
	if r := p.Check(t.Context()); r.OK {
		t.Error("a TLS engine answered without TLS")
	}
	cert := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	crt := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
	dir := "contexts/tls/" + contextID("safe") + "/docker"
	putConfig(t, dir+"/ca.pem", crt)
	only := provider(t, Options{}) // an authority and no key of our own, as for an engine behind a proxy
	if r := only.Check(t.Context()); !r.OK {
		t.Errorf("%+v", r)
	}
	putConfig(t, dir+"/cert.pem", crt)
	putConfig(t, dir+"/key.pem", key)
	with := provider(t, Options{})
	if r := with.Check(t.Context()); !r.OK || !strings.HasPrefix(r.Detail, "docker 20.10.24") {
		t.Errorf("%+v", r)
	}
}

// serveSocket has the engine listen at e.sock in a folder of its own.
func serveSocket(t *testing.T, f *fake) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "e.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(f)
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return dir
}

// An engine at another unix socket is this machine's.
func TestOtherSocket(t *testing.T) {
	f := &fake{}
	serve(t, f)
	dir := serveSocket(t, f)
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/e.sock")
	p := provider(t, Options{})
	if r := p.Check(t.Context()); !r.OK {
		t.Errorf("%+v", r)
	}
	spec := sandbox.Spec{Workdir: "/w", Mounts: []sandbox.Mount{{Source: dir, Target: "/x"}}}
	if err := p.mayShow(&spec); err == nil || !strings.Contains(err.Error(), "the engine's socket") {
		t.Error(err)
	}
}
