package sandboxtest

import (
	"errors"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// tracks are what a snapshot has to bring back.
const tracks = `cd /testbed && mkdir -p new/deep && printf 'a\000\377' > new/deep/bin && ln -s ../gone new/link && ln new/deep/bin new/hard
printf '#!/bin/sh\necho runs\n' > run && chmod 751 run && : > shut && chmod 0 shut && chmod 711 new && touch -d '2001-02-03 04:05:06Z' run
truncate -s 64M new/hole; echo home > /root/.note; echo tmp > /tmp/note; rm old; rm -r gone.d; mkdir -p /opt2 && mkfifo /opt2/pipe`

const trail = `cd /testbed && find . /opt2 /root/.note /tmp/note | sort | xargs stat -c '%n %F %a %s'; stat -c %Y run; stat -c %h new/hard
od -An -tx1 new/deep/bin; readlink new/link; ./run; cat /root/.note /tmp/note; ls old gone.d 2>&1 | wc -l`

// testSnapshot opens sandboxes from what another one was at one moment.
func testSnapshot(t *testing.T, open Open) {
	sb := opened(t, open)
	s, can := sb.(sandbox.Snapshotter)
	if !can {
		t.Skip("no Snapshotter")
	}
	if !contained(sb) { // and what leaves tracks would leave them on this machine
		if snap, err := s.Snapshot(t.Context()); !errors.Is(err, sandbox.ErrNoSnapshot) {
			t.Errorf("an uncontained sandbox has a snapshot: %v %v", snap, err)
		}
		return
	}
	says(t, sb, "echo old > /testbed/old; mkdir -p /testbed/gone.d/in")
	says(t, sb, tracks+"; setsid sleep "+naps()+" >/dev/null 2>&1 &")
	want := says(t, sb, trail)
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
	}()
	says(t, sb, "rm -r /testbed/new; echo later > /testbed/later; pidof sleep || pgrep sleep") // the sandbox itself goes on
	from := func() sandbox.Sandbox {
		t.Helper()
		return opened(t, func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
			spec.From = snap.ID()
			return open(t, spec)
		})
	}
	first := from()
	if got := says(t, first, trail); got != want {
		t.Errorf("the files are others: %s", difference(want, got))
	}
	if n := count(t, first); n != "0" {
		t.Errorf("%s processes came over", n)
	}
	if got := says(t, first, `pwd; echo "$SPEC_VAR"`); got != "/testbed\nfrom spec\n" {
		t.Errorf("%q", got)
	}
	// Each is its own, and has a snapshot of its own in turn.
	says(t, first, "echo mine > /testbed/mine; rm -r /testbed/new")
	if got := says(t, from(), trail); got != want {
		t.Errorf("what one changed another sees: %s", difference(want, got))
	}
	next, err := first.(sandbox.Snapshotter).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := opened(t, func(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
		spec.From = next.ID()
		return open(t, spec)
	})
	for range 2 { // what was opened from it lives on
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := says(t, second, "cd /testbed; ls; cat mine"); strings.Contains(got, "new") || !strings.HasSuffix(got, "mine\n") {
		t.Errorf("%q", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.(sandbox.Snapshotter).Snapshot(t.Context()); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("snapshot after close: %v", err)
	}
}
