package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// A container with its idle pid 1, a shell started from outside, python's wrapper and
// its server, the look with its cat; a policy left a server of the shell, an orphan,
// and a child of python.
func TestListOfPrograms(t *testing.T) {
	out := "70" + strings.Join([]string{"",
		"1 0 sh\x00-c\x00idle\x00",
		"10 0 bash\x00--noprofile\x00--norc\x00-s\x00",
		"20 0 /bin/sh\x00-c\x00(exec)\x00", "21 20 python3\x00-u\x00-c\x00served\x00m\x00", "22 21 sleep\x0099\x00",
		"30 10 python3\x00-m\x00http.server\x008000\x00",
		"40 1 ./daemon\x00", "41 1 sh\x00-s\x00",
		"50 10 \x00",
		"60 0 /bin/sh\x00-c\x00(exec)\x00", "70 60 bash\x00-c\x00list\x00", "71 70 cat\x00/proc/71/cmdline\x00",
		"nonsense",
	}, "\x01")
	all, self, err := parseRunning([]byte(out))
	if err != nil || self != 70 || len(all) != 11 {
		t.Fatalf("%v, self %d, %v", all, self, err)
	}
	got := left(all, self, func(argv []string) bool { return len(argv) > 3 && argv[3] == "served" })
	if want := []string{"./daemon", "python3 -m http.server 8000", "sleep 99"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// On this machine below an init that starts shells itself, the look has parent 1.
	got = left([]program{{1, 0, []string{"init"}}, {5, 1, []string{"sh", "-s"}}, {6, 5, []string{"sh", "-s"}}, {7, 1, []string{"/bin/sh", "-c", holdTerminal}}, {8, 1, []string{"sleep", "2147483647"}}, {9, 1, []string{"sh", "-c", "list"}}}, 9, func([]string) bool { return false })
	if want := []string{"sh -s"}; !slices.Equal(got, want) { // a shell that a shell has started is a command's
		t.Errorf("%q, want %q", got, want)
	}
	for _, bad := range []string{"", "sh: no printf", "\x011 0 x"} {
		if _, _, err := parseRunning([]byte(bad)); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
}
