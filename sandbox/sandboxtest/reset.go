package sandboxtest

import (
	"errors"
	"testing"

	"rollbench/sandbox"
)

// inventory is all of a sandbox that a command can see and another could have
// changed: files, processes, shared memory, sockets, limits, environment. Programs
// of the machine are left out.
const inventory = `cd /
find / -regex '/\(proc\|sys\|usr\|bin\|sbin\|lib[^/]*\|opt\|nix\|dev/pts\)/.*' -prune -o \
	! -type d -printf '%p %y %m %u %s %l\n' -o -printf '%p %y %m %u\n' 2>&1 | sort
cat /etc/hosts
env | sort
ulimit -a; umask; nice; hostname
names=$(for f in /proc/[0-9]*/stat; do read -r l < "$f" && l=${l%%)*} && echo "${l#*(}"; done 2>/dev/null)
echo "$names" | sort
cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem
tail -n +2 -q /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/unix | wc -l
cat /proc/1/limits`

// dirt leaves behind what commands can. What a machine has no program for is left
// out.
func dirt() string {
	return `exec 2>/dev/null
for d in . "$HOME" /tmp /var/tmp /dev/shm /run /home /opt/new / /etc; do
	mkdir -p $d && cd $d || continue
	echo x > left; echo x > .hidden; mkfifo pipe; ln -s /etc/passwd link; ln left twin
	mkdir -p locked/in read/in; echo x > locked/in/f; chmod 000 locked/in locked; echo x > read/in/f; chmod 555 read/in read
	setsid sleep ` + naps() + `1 &
done
head -c 33554432 /dev/zero > "$HOME/big"
d=deep; for i in $(seq 200); do d=$d/d; done; mkdir -p "$HOME/$d"
echo 1.2.3.4 localhost > /etc/hosts; mv /home /moved; rm -rf /root/.[a-z]*; chmod 700 /tmp; rm /dev/fd
renice 19 1; prlimit --pid 1 --nofile=100:100; ulimit -n 50
ipcmk -M 4096; ipcmk -Q
python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("/tmp/socket"); s.listen()
a = socket.socket(); a.bind(("127.0.0.1", 7777)); a.listen()
b = socket.create_connection(("127.0.0.1", 7777)); c = a.accept()[0]; b.close(); c.close()'
` + stubborn()
}

// testReset makes a sandbox as dirty as can be, and compares it after a Reset with
// what it was when new.
func testReset(t *testing.T, sb sandbox.Sandbox, spec sandbox.Spec) {
	r, ok := sb.(sandbox.Resetter)
	if !ok {
		t.Skip("no Resetter")
	}
	if !contained(sb) {
		if err := r.Reset(t.Context(), spec); !errors.Is(err, sandbox.ErrNoReset) {
			t.Errorf("an uncontained sandbox was reset: %v", err)
		}
		return
	}
	fresh := says(t, sb, inventory)
	for range 2 {
		sh := shellOf(t, sb)
		run(t, sh, sandbox.Command{Script: "export LEFT=1; umask 077; cd /tmp; nohup sleep " + naps() + "2 >/dev/null 2>&1 &"})
		up := make(chan struct{}, 8)
		ended := make(chan error, 1)
		go func() {
			_, err := sb.Exec(t.Context(), sandbox.Command{Script: dirt(), Timeout: limit, OnOutput: func([]byte) { up <- struct{}{} }})
			ended <- err
		}()
		<-up
		if dirty := says(t, sb, inventory); dirty == fresh {
			t.Fatal("nothing was left behind")
		}
		if err := r.Reset(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("the command that ran ended with %v", err)
		}
		if res, err := sh.Run(t.Context(), sandbox.Command{Script: "echo here"}); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("the old shell answers: %+v, %v", res, err)
		}
		if after := says(t, sb, inventory); after != fresh {
			t.Errorf("%d bytes when new, %d after the reset: %s", len(fresh), len(after), difference(fresh, after))
		}
	}
	spec.Workdir, spec.Env = "/other/place", map[string]string{"SPEC_VAR": "another"}
	if err := r.Reset(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got := says(t, sb, `pwd; echo "$SPEC_VAR"; ls -A; ls -d /testbed 2>&1 | wc -c`); sb.Workdir() != "/other/place" || got[:len("/other/place\nanother\n")] != "/other/place\nanother\n" {
		t.Errorf("%s %q", sb.Workdir(), got)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Reset(t.Context(), spec); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("reset after close: %v", err)
	}
}

// difference is what two texts have from the first byte on in which they differ.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[i:min(len(a), i+300)] + "\ninstead of\n" + b[i:min(len(b), i+300)]
}
