package sandbox

import (
	"strconv"
	"strings"
	"time"
)

// KillArgv kills a Tree from inside, for sandboxes that have nothing but a sh:
// it exits 0 when nothing of the tree is left, else 1. It must run as the user
// the commands run as, or as root, in a pid namespace of the sandbox's own: a
// tree that forks faster than it is killed has everything in there stopped for
// a moment. Only orphans of pid 1 are taken for orphans; a process whose parent
// is outside the sandbox (pid 0) is spared unless marked. slack widens Age by
// what starting this very command may take, at least some ms: what began in the
// first moments would be missed without.
func KillArgv(t Tree, slack time.Duration) []string {
	return []string{"/bin/sh", "-c", killLine(t, -(t.Age + slack + tick))}
}

// KillLine is KillArgv for a sh that runs already: one line for its eval, which
// starts no process, so that it works where none may be started, and spares the
// shell itself. The shell has lived for at least that long; what it has lived
// longer widens Age. Its last command's exit code is 0 when nothing is left.
func KillLine(t Tree, lived time.Duration) string {
	return killLine(t, lived-t.Age-tick)
}

// tick is the unit of start times in /proc/PID/stat on every Linux we know.
const tick = 10 * time.Millisecond

// killLine takes for young what started no earlier than since after the shell.
func killLine(t Tree, since time.Duration) string {
	return findLine(t, since) + " kill_tree"
}

// SignalArgv and SignalLine are KillArgv and KillLine for Starter.Signal: they
// print the pids.
func SignalArgv(t Tree, sig Signal, root bool, slack time.Duration) []string {
	return []string{"/bin/sh", "-c", signalLine(t, sig, root, -(t.Age + slack + tick))}
}

// SignalLine is said at SignalArgv.
func SignalLine(t Tree, sig Signal, root bool, lived time.Duration) string {
	return signalLine(t, sig, root, lived-t.Age-tick)
}

func signalLine(t Tree, sig Signal, root bool, since time.Duration) string {
	too := ""
	if root {
		too = "1"
	}
	return findLine(t, since) + " sig=" + string(sig) + " too=" + too + "; signal_tree"
}

// findLine sets what the script's functions look for, and defines them.
func findLine(t Tree, since time.Duration) string {
	return "mark=" + quote(MarkVar+"="+t.Mark) + " group=" + quote(MarkVar+"="+t.Group) + " var=" + MarkVar + "= root=" +
		strconv.Itoa(t.Root) + " since=" + strconv.FormatInt(int64(since/tick), 10) + strings.ReplaceAll(killScript, "\n", " ")
}

// killScript uses builtins only.
//
//   - stat PID sets state, parent and start.
//   - class PID sets kind to own, other, or none (no mark, or the shell's).
//   - scan sets found to the pids of the tree, all to those of every process, and
//     moving where a process ended before it could be looked at. It stops what
//     carries the mark at once, so that a tree that wants all of the CPU does not
//     slow it down.
//   - kill_tree stops and kills until nothing is found. Where processes are many,
//     the second round finds new ones, or some always end before they were looked
//     at, it stops everything there is, in one system call that no fork can outrun,
//     and lets the others go on in the end, children before their parents, but not
//     what was stopped before (held).
//   - signal_tree stops nothing and looks once.
const killScript = `;
stat() {
  s= ; l= ;
  { while IFS= read -r l || [ -n "$l" ]; do s="$s $l"; l= ; done < /proc/$1/stat; } 2>/dev/null || return 1;
  [ -n "$s" ] || return 1;
  s=${s##*) };
  set -- $s;
  [ $# -ge 20 ] || return 1;
  state=$1 parent=$2 session=$4 start=${20};
};
class() {
  kind=none ; l= ;
  { while IFS= read -r l || [ -n "$l" ]; do
    case $l in
    *"$mark"*) kind=own; l= ; break ;;
    *"$group"*) [ "$group" != "$var" ] || kind=other ;;
    *"$var"*) kind=other ;;
    esac;
    l= ;
  done < /proc/$1/environ; } 2>/dev/null;
  return 0;
};
scan() {
  for p in $all; do unset k$p P$p; done;
  found= ; all= ; moving= ;
  for d in /proc/[0-9]*; do
    p=${d#/proc/};
    case $p in 1|$me) continue ;; esac;
    stat $p || { moving=1; continue; };
    case $state in Z|X) continue ;; T) [ $n -gt 0 ] || held="$held$p " ;; esac;
    [ -z "$look" ] || continue;
    class $p;
    [ $kind != own ] || [ -n "$soft" ] || kill -STOP $p;
    [ $kind != none ] || [ $start -ge $since ] || kind=old;
    all="$p $all";
    eval "k$p=$kind P$p=$parent";
  done 2>/dev/null;
  for p in $all; do
    q=$p;
    while :; do
      [ $q != $root ] || { [ $q = 0 ] || found="$found $p"; break; };
      eval "kind=\${k$q-gone} parent=\${P$q-0}";
      case $kind in
      own) found="$found $p"; break ;;
      none) [ $parent != 1 ] || { found="$found $p"; break; } ;;
      *) break ;;
      esac;
      q=$parent;
    done;
  done;
};
kill_tree() {
  me=$$ all= held=' ' dying=' ' n=0 again=0 world= look= soft= ;
  stat $me || return 1;
  since=$((start + since));
  set -- /proc/[0-9]*;
  [ $# -lt 16 ] || { look=1; scan; look= n=1 world=1; kill -STOP -1; };
  while [ $n -lt 400 ]; do
    scan;
    if [ -z "$found" ]; then
      [ -n "$moving" ] && [ $again -lt 8 ] || break;
      again=$((again + 1));
      [ $again -lt 3 ] || { world=1; kill -STOP -1; };
    else
      for p in $found; do
        case $dying in *" $p "*) ;; *) [ $n = 0 ] || world=1 ;; esac;
        kill -STOP $p;
      done 2>/dev/null;
      [ -z "$world" ] || kill -STOP -1;
      scan;
      for p in $found; do
        kill -KILL $p;
        case $dying in *" $p "*) ;; *) dying="$dying$p " ;; esac;
      done 2>/dev/null;
    fi;
    n=$((n + 1));
  done;
  [ -z "$world" ] || for p in $all; do
    case $held in *" $p "*) ;; *) kill -CONT $p ;; esac;
  done 2>/dev/null;
  [ -z "$found" ];
};
signal_tree() {
  me=$$ all= held=' ' n=1 look= soft=1 hit= ;
  stat $me || return 1;
  since=$((start + since));
  scan;
  [ -z "$too" ] || { kill -$sig $root 2>/dev/null && hit=$root; };
  for p in $found; do
    [ $p != $root ] || continue;
    stat $p || continue;
    [ $root = 0 ] || [ $session = $root ] || continue;
    kill -$sig $p && hit="$hit $p";
  done 2>/dev/null;
  echo $hit;
};`
