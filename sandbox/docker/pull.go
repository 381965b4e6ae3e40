package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
)

// pullIdle ends a pull on which nothing has moved for so long.
const pullIdle = 10 * time.Minute

// pull an image, from the mirror where there is one for its registry; it then gets
// its own name.
func (p *Provider) pull(ctx context.Context, name string, progress func(string)) error {
	from, err := mirrored(name, p.opt.Mirror)
	if err != nil {
		return fmt.Errorf("image %q: %w", name, err)
	}
	if from == "" {
		return p.pullFrom(ctx, name, name, progress)
	}
	if err := p.pullFrom(ctx, name, from, progress); err != nil {
		return err
	}
	if err := p.engine.ImageTag(ctx, from, name); err != nil {
		return p.explain(fmt.Errorf("image %q: name what was pulled from the mirror: %w", name, err))
	}
	if _, err := p.removeImage(ctx, from); err != nil { // the mirror's name only
		return err
	}
	return nil
}

// mirrored is where an image of docker.io is pulled from, "" for its own registry.
// One that is named by its digest would have no name of its own after it.
func mirrored(name, mirror string) (string, error) {
	if mirror == "" {
		return "", nil
	}
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return "", err
	}
	if _, digested := named.(reference.Digested); digested || reference.Domain(named) != "docker.io" {
		return "", nil
	}
	from := strings.TrimSuffix(mirror, "/") + "/" + reference.Path(named)
	if tagged, ok := reference.TagNameOnly(named).(reference.Tagged); ok {
		from += ":" + tagged.Tag()
	}
	return from, CheckMirror(mirror)
}

// same says whether two names mean the same image.
func same(a, b string) bool {
	x, err1 := reference.ParseDockerRef(a)
	y, err2 := reference.ParseDockerRef(b)
	return err1 == nil && err2 == nil && x.String() == y.String()
}

// CheckMirror says whether a mirror can stand before the name of an image.
func CheckMirror(mirror string) error {
	if mirror == "" {
		return nil
	}
	host, _, _ := strings.Cut(mirror, "/")
	_, err := reference.ParseNamed(strings.TrimSuffix(mirror, "/") + "/library/x:1")
	if err != nil || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return fmt.Errorf("sandbox.mirror is %q: write a registry, and a path where it has one, such as mirror.gcr.io or localhost:5000/hub", mirror)
	}
	return nil
}

func (p *Provider) pullFrom(ctx context.Context, name, from string, progress func(string)) error {
	login, err := p.auth.forImage(ctx, from)
	if err != nil {
		return noImage(name, from, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(pullIdle, func() { cancel(fmt.Errorf("nothing was received for %s", pullIdle)) })
	defer idle.Stop()
	progress("pulling " + from)
	stream, err := p.engine.ImagePull(ctx, from, image.PullOptions{RegistryAuth: login})
	if err != nil {
		return noImage(name, from, p.explain(err))
	}
	defer stream.Close()
	all := layers{now: time.Now, tell: func(text string) { progress("pulling " + from + ": " + text) }}
	err = readProgress(stream, func(m message) {
		idle.Reset(pullIdle)
		all.take(m)
	}, func(string) {})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return noImage(name, from, err)
	}
	progress("pulled " + from)
	return nil
}

// noImage says why an image is not there, and what helps.
func noImage(name, from string, err error) error {
	host := "its registry"
	if named, perr := reference.ParseNormalizedNamed(from); perr == nil {
		host = reference.Domain(named)
	}
	where := ""
	if from != name {
		where = " as " + from
	}
	return fmt.Errorf("image %q: not present and cannot be pulled%s: %w; %s", name, where, err, pullFix(strings.ToLower(err.Error()), host))
}

// pullFix goes by what registries and engines say, since their errors have no kinds.
func pullFix(said, host string) string {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("toomanyrequests", "too many requests", "rate limit", "429"):
		return fmt.Sprintf("%s limits how much may be pulled: `docker login %s`, wait, or set sandbox.mirror", host, host)
	case has("no matching manifest"):
		return "it has no build for this machine's kind: name another image, or build it"
	case has("manifest unknown", "not found", "no such image", "name unknown"):
		return fmt.Sprintf("%s has no such image or tag: correct the name, or build it", host)
	case has("pull access denied", "denied", "unauthorized", "authentication required", "no basic auth credentials", "forbidden"):
		return fmt.Sprintf("correct the name, or `docker login %s` with an account that may read it", host)
	case has("no space left"):
		return "make room for it: `rollbench clean --images` shows what rollbench itself has made and pulled"
	case has("http response to https client", "x509", "certificate"):
		return fmt.Sprintf("the engine does not trust %s: add its certificate, or insecure-registries, to the engine's configuration", host)
	case has("no such host", "timeout", "timed out", "connection refused", "network is unreachable", "i/o", "eof", "reset by peer"):
		return fmt.Sprintf("%s is out of reach: check the engine's network and proxy, set sandbox.mirror, build it, or name one that is there", host)
	}
	return "build it, or name one that is there"
}

// sayEvery is how often a pull says where it is.
const sayEvery = 2 * time.Second

// layers add up what the engine says of each layer of a pull.
type layers struct {
	now  func() time.Time
	tell func(string)

	all   map[string]*layer
	done  int
	said  time.Time
	shown string
}

type layer struct {
	got, size int64
	done      bool
}

// take a message, and tell where the pull is, at most every sayEvery.
func (l *layers) take(m message) {
	if m.ID == "" || strings.HasPrefix(m.Status, "Pulling from") {
		return
	}
	x := l.all[m.ID]
	if x == nil {
		x = &layer{}
		if l.all == nil {
			l.all = map[string]*layer{}
		}
		l.all[m.ID] = x
	}
	switch m.Status {
	case "Downloading":
		x.got, x.size = m.Detail.Current, max(m.Detail.Total, m.Detail.Current)
	case "Verifying Checksum", "Download complete", "Extracting":
		x.got = x.size
	case "Pull complete", "Already exists":
		x.got = x.size
		if !x.done {
			x.done = true
			l.done++
		}
	}
	if now := l.now(); now.Sub(l.said) >= sayEvery || l.done == len(l.all) {
		if text := l.String(); text != l.shown {
			l.tell(text)
			l.said, l.shown = now, text
		}
	}
}

// String is "3 of 7 layers, 120 of 400 MB, 30 %". While the sizes of some layers are
// not known yet it has "120 of 400 MB and more" and no share.
func (l *layers) String() string {
	var got, size int64
	known := true
	for _, x := range l.all {
		got, size = got+x.got, size+x.size
		known = known && (x.size > 0 || x.done)
	}
	text := fmt.Sprintf("%d of %d layers", l.done, len(l.all))
	switch {
	case size == 0:
		return text
	case !known:
		return fmt.Sprintf("%s, %d of %d MB and more", text, mega(got), mega(size))
	}
	return fmt.Sprintf("%s, %d of %d MB, %d %%", text, mega(got), mega(size), 100*got/size)
}

// mega rounds up: what there is, is at least 1 MB.
func mega(n int64) int64 { return (n + 1<<20 - 1) >> 20 }
