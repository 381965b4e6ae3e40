package docker

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// pulled is what an engine says of a pull: two layers, one of them there already.
const pulled = `{"status":"Pulling from library/x","id":"1"}
{"status":"Pulling fs layer","progressDetail":{},"id":"aa"}
{"status":"Already exists","progressDetail":{},"id":"bb"}
{"status":"Downloading","progressDetail":{"current":1048576,"total":4194304},"id":"aa"}
{"status":"Download complete","progressDetail":{},"id":"aa"}
{"status":"Extracting","progressDetail":{"current":4194304,"total":4194304},"id":"aa"}
{"status":"Pull complete","progressDetail":{},"id":"aa"}
{"status":"Digest: sha256:00"}
{"status":"Status: Downloaded newer image"}
`

// The numbers are those of the messages: 3 layers of 100, 300 and (late) 200 MB.
func TestLayers(t *testing.T) {
	now := time.Unix(100, 0)
	var told []string
	l := layers{now: func() time.Time { return now }, tell: func(s string) { told = append(told, s) }}
	take := func(id, status string, got, size int64) {
		m := message{ID: id, Status: status}
		m.Detail.Current, m.Detail.Total = got<<20, size<<20
		l.take(m)
	}
	for _, id := range []string{"a", "b", "c"} {
		take(id, "Pulling fs layer", 0, 0)
	}
	now = now.Add(2 * time.Second)
	take("a", "Downloading", 20, 100)
	take("b", "Downloading", 80, 300) // too soon
	now = now.Add(2 * time.Second)
	take("b", "Downloading", 100, 300)
	now = now.Add(2 * time.Second)
	take("c", "Downloading", 60, 200)
	take("a", "Download complete", 0, 0)
	now = now.Add(2 * time.Second)
	take("a", "Pull complete", 0, 0)
	take("a", "Pull complete", 0, 0)
	take("b", "Pull complete", 0, 0)
	take("c", "Pull complete", 0, 0) // the end is told at once
	want := []string{"0 of 1 layers", "0 of 3 layers, 20 of 100 MB and more", "0 of 3 layers, 120 of 400 MB and more", "0 of 3 layers, 180 of 600 MB, 30 %",
		"1 of 3 layers, 260 of 600 MB, 43 %", "3 of 3 layers, 600 of 600 MB, 100 %"}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// A pull tells where it is, has the login of its registry, and is noted down.
func TestPull(t *testing.T) {
	f := &fake{pull: func(string) (int, string) { return 200, pulled }}
	serve(t, f)
	putConfig(t, "config.json", `{"auths":{"https://index.docker.io/v1/":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret"))+`"}}}`)
	home := t.TempDir()
	p := provider(t, Options{Home: home})
	var lines []string
	if err := p.EnsureImage(t.Context(), sandbox.Spec{Image: "x:1", Progress: func(l string) { lines = append(lines, l) }}); err != nil {
		t.Fatal(err)
	}
	if lines[0] != "pulling x:1" || lines[len(lines)-2] != "pulling x:1: 2 of 2 layers, 4 of 4 MB, 100 %" || lines[len(lines)-1] != "pulled x:1" || len(lines) > 5 {
		t.Errorf("%q", lines)
	}
	login, err := base64.URLEncoding.DecodeString(f.auth[0])
	if err != nil || !strings.Contains(string(login), `"username":"me","password":"secret"`) {
		t.Errorf("login %s %v", login, err)
	}
	f.list = []map[string]any{{"Id": f.images["x:1"], "RepoTags": []string{"x:1", "mine:1"}, "Size": 5 << 20, "Labels": map[string]string{}},
		{"Id": "sha256:other", "RepoTags": []string{"other:1"}, "Size": 3 << 20, "Labels": map[string]string{labelBuilt: "x:2", labelSnapshot: "a"}}}
	f.images["other:1"] = "sha256:other"
	all, err := p.Images(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "x:1" || all[0].How != "pulled" || all[0].Size != 5<<20 || all[0].Own != 5<<20 || all[0].Used != "" {
		t.Errorf("%+v %v", all, err)
	}
	// Pulled again by somebody else: it is another image, and not ours.
	f.list[0]["Id"] = "sha256:newer"
	f.images["mine:1"] = "sha256:newer"
	if all, err := p.Images(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	if data, err := os.ReadFile(filepath.Join(home, pulledFile)); err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("%s %v", data, err)
	}
}

// A credential helper, and the store, are programs on the PATH.
func TestHelperPrograms(t *testing.T) {
	f := &fake{pull: func(string) (int, string) { return 200, pulled }}
	serve(t, f)
	bin := t.TempDir()
	for name, text := range map[string]string{
		"docker-credential-own": "#!/bin/sh\nread -r host\n[ \"$1 $host\" = 'get own.example:5000' ] && echo '{\"Username\":\"u\",\"Secret\":\"from helper\"}'\n",
		"docker-credential-all": "#!/bin/sh\ncase $1 in list) echo '{\"https://index.docker.io/v1/\":\"u\"}' ;; get) echo '{\"Username\":\"<token>\",\"Secret\":\"from store\"}' ;; esac\n",
		"docker-credential-bad": "#!/bin/sh\necho leaked\necho 'the keyring is locked' >&2\nexit 1\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	putConfig(t, "config.json", `{"credsStore":"all","credHelpers":{"own.example:5000":"own","bad.example":"bad"}}`)
	p := provider(t, Options{})
	for image, want := range map[string]string{"own.example:5000/x:1": `"password":"from helper"`, "x:1": `"identitytoken":"from store"`} {
		f.auth = nil
		if err := p.EnsureImage(t.Context(), sandbox.Spec{Image: image}); err != nil {
			t.Fatal(err)
		}
		if login, err := base64.URLEncoding.DecodeString(f.auth[0]); err != nil || !strings.Contains(string(login), want) {
			t.Errorf("%s: %s %v", image, login, err)
		}
	}
	err := p.EnsureImage(t.Context(), sandbox.Spec{Image: "bad.example/x:1"})
	if err == nil || !strings.Contains(err.Error(), "the keyring is locked") || strings.Contains(err.Error(), "leaked") {
		t.Error(err)
	}
}

// Images of docker.io come from the mirror and keep their own names.
func TestMirror(t *testing.T) {
	f := &fake{pull: func(name string) (int, string) { return 200, pulled }}
	serve(t, f)
	p := provider(t, Options{Mirror: "mirror.example:5000/hub/"})
	for image, from := range map[string]string{"x:1": "fromImage=mirror.example%3A5000%2Fhub%2Flibrary%2Fx&tag=1", "team/y": "fromImage=mirror.example%3A5000%2Fhub%2Fteam%2Fy&tag=latest",
		"ghcr.example/z:2": "fromImage=ghcr.example%2Fz&tag=2"} {
		f.asked = nil
		if err := p.EnsureImage(t.Context(), sandbox.Spec{Image: image}); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(f.asked, "POST /images/create?"+from) {
			t.Errorf("%s: %q", image, f.asked)
		}
		if have, err := p.HasImage(t.Context(), image); err != nil || !have {
			t.Errorf("%s: %t %v", image, have, err)
		}
	}
	for name := range f.images {
		if strings.Contains(name, "mirror.example") {
			t.Errorf("%s is left", name)
		}
	}
	digest := "x@sha256:" + strings.Repeat("0", 64)
	if from, err := mirrored(digest, "mirror.example"); from != "" || err != nil {
		t.Errorf("%s %v", from, err)
	}
	for _, bad := range []string{"mirror", "https://mirror.example", "mirror.example/UPPER", "a b.example"} {
		if err := CheckMirror(bad); err == nil || !strings.Contains(err.Error(), "sandbox.mirror") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, good := range []string{"", "mirror.gcr.io", "localhost:5000", "127.0.0.1:5000/hub"} {
		if err := CheckMirror(good); err != nil {
			t.Error(err)
		}
	}
}

// What engines answer, as seen, and what the person is told to do.
func TestPullErrors(t *testing.T) {
	f := &fake{}
	serve(t, f)
	p := provider(t, Options{})
	for _, c := range []struct {
		status    int
		body, fix string
	}{
		{500, `{"message":"toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating"}`, "docker.io limits how much may be pulled: `docker login docker.io`, wait, or set sandbox.mirror"},
		{404, `{"message":"pull access denied for x, repository does not exist or may require 'docker login': denied: requested access to the resource is denied"}`, "`docker login docker.io`"},
		{500, `{"message":"Head \"https://registry-1.docker.io/v2/library/x/manifests/1\": unauthorized: incorrect username or password"}`, "`docker login docker.io`"},
		{404, `{"message":"manifest for x:1 not found: manifest unknown: manifest unknown"}`, "docker.io has no such image or tag"},
		{200, `{"errorDetail":{"message":"no matching manifest for linux/arm64/v8 in the manifest list entries"},"error":"no matching manifest"}`, "no build for this machine's kind"},
		{200, `{"status":"Downloading","id":"a"}` + "\n" + `{"errorDetail":{"message":"write /var/lib/docker/tmp/x: no space left on device"},"error":"write: no space left on device"}`, "rollbench clean --images"},
		{500, `{"message":"Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup registry-1.docker.io: no such host"}`, "docker.io is out of reach"},
		{500, `{"message":"Get \"https://registry-1.docker.io/v2/\": x509: certificate signed by unknown authority"}`, "does not trust docker.io"},
		{500, `{"message":"something else"}`, "build it, or name one that is there"},
	} {
		f.pull = func(string) (int, string) { return c.status, c.body }
		err := p.EnsureImage(t.Context(), sandbox.Spec{Image: "x:1"})
		if err == nil || !strings.Contains(err.Error(), c.fix) || !strings.HasPrefix(err.Error(), `image "x:1": not present and cannot be pulled: `) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}
