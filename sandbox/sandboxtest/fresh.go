package sandboxtest

import (
	"errors"
	"strings"
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

// testFresh leaves a sandbox as dirty as can be, and compares one that is opened
// afterwards, and one that is opened beside it, with what it was when new.
func testFresh(t *testing.T, open Open) {
	sb := opened(t, open)
	if !contained(sb) {
		t.Skip("not contained")
	}
	seen := func(sb sandbox.Sandbox) string {
		return strings.ReplaceAll(says(t, sb, inventory), sb.ID()[:min(12, len(sb.ID()))], "ID") // a container's host name
	}
	fresh := seen(sb)
	up := make(chan struct{}, 8)
	ended := make(chan error, 1)
	go func() {
		_, err := sb.Exec(t.Context(), sandbox.Command{Script: dirt(), Timeout: limit, OnOutput: func([]byte) { up <- struct{}{} }})
		ended <- err
	}()
	<-up
	if dirty := seen(sb); dirty == fresh {
		t.Fatal("nothing was left behind")
	}
	if beside := seen(opened(t, open)); beside != fresh {
		t.Errorf("%d bytes when new, %d beside a dirty one: %s", len(fresh), len(beside), difference(fresh, beside))
	}
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("the command that ran ended with %v", err)
	}
	if after := seen(opened(t, open)); after != fresh {
		t.Errorf("%d bytes when new, %d after a dirty one: %s", len(fresh), len(after), difference(fresh, after))
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
