//go:build linux

package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// What is more than a message holds, such as a folder of very many entries, is
// answered with an error: without an answer the call would never end.
func TestTooLongAnAnswer(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c.(*net.UnixConn)
	}
	a := &agent{conn: conns[0]}
	infos := make([]info, 70_000)
	for i := range infos {
		infos[i] = info{N: strings.Repeat("n", 250)}
	}
	if err := a.reply(response{ID: 7, Infos: infos}); err != nil {
		t.Fatal(err)
	}
	var r response
	conns[1].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, _, err := receive(conns[1], &r); err != nil || r.ID != 7 || !strings.Contains(r.Err, "over the limit") {
		t.Errorf("%d %q, %v", r.ID, r.Err, err)
	}
}

// More than a listing may take is refused while it comes.
func TestWalkIsBounded(t *testing.T) {
	b := open(t, provider(t, Namespaces), sandbox.Spec{})
	// A path of 3.5 kB for each of 20,000 names.
	dir := filepath.Join(b.dir(), "root/workspace") + strings.Repeat("/"+strings.Repeat("d", 230), 15)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if err := root.Link("f", fmt.Sprintf("f%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := b.Walk(t.Context(), ".", nil); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("%d entries, %v", len(list), err)
	}
	if list, err := b.Walk(t.Context(), "/etc", nil); err != nil || len(list) == 0 {
		t.Errorf("afterwards: %d, %v", len(list), err)
	}
}
