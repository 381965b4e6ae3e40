//go:build linux || darwin

package sandbox

import (
	"os"
	"os/exec"
	"testing"
)

func TestOwner(t *testing.T) {
	o, err := ThisOwner()
	if err != nil {
		t.Fatal(err)
	}
	if o.Pid != os.Getpid() || !o.Alive() {
		t.Fatalf("%+v is not alive", o)
	}
	back, err := ParseOwner(o.String() + "\n")
	if err != nil || back != o {
		t.Fatalf("%v: %+v, %v", o, back, err)
	}
	reused := o
	reused.Start--
	if reused.Alive() {
		t.Error("a reused pid counts as the owner")
	}
	for _, change := range []func(*Owner){
		func(o *Owner) { o.Boot = "x" }, func(o *Owner) { o.Machine = "x" }, func(o *Owner) { o.PidNS = "1" },
	} {
		far := reused
		change(&far)
		if !far.Alive() {
			t.Errorf("%v of elsewhere counts as dead", far)
		}
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := o
	child.Pid = cmd.Process.Pid
	if child.Start, err = StartTime(child.Pid); err != nil || !child.Alive() {
		t.Fatalf("child %v, %v", child, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if child.Alive() {
		t.Error("a dead child counts as alive")
	}
}

func TestParseOwnerErrors(t *testing.T) {
	for _, s := range []string{"", "1/2/3/4", "x/2/3/4/5", "0/2/3/4/5", "-1/2/3/4/5", "1/-2/3/4/5", "1/2//4/5", "1/2/3/4/5/6"} {
		if o, err := ParseOwner(s); err == nil {
			t.Errorf("%q: %+v", s, o)
		}
	}
}

func TestParseStat(t *testing.T) {
	s, err := ParseStat([]byte("12 (a) R ) x\n) S 7 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9999 1 2\n"))
	if err != nil || s != (Stat{'S', 7, 3, 9999}) {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1", "1 (x) S y 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9999"} {
		if _, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
}
