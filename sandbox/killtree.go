package sandbox

import (
	"strconv"
	"time"
)

// KillArgv kills a Tree from inside, for sandboxes that have nothing but a sh:
// it exits 0 when nothing of the tree is left, else 1. It uses builtins only,
// so that it works where no further process may be started. It must run as the
// user the commands run as, or as root. Only orphans of pid 1 are taken for
// orphans; a process whose parent is outside the sandbox (pid 0) is spared
// unless marked. slack widens Age by what starting this very command may take, at
// least some ms: what began in the first moments would be missed without.
func KillArgv(t Tree, slack time.Duration) []string {
	ticks := int64((t.Age + slack + tick) / tick)
	return []string{"/bin/sh", "-c", killScript, "sh", MarkVar + "=" + t.Mark, MarkVar + "=" + t.Group,
		strconv.Itoa(t.Root), strconv.FormatInt(ticks, 10), MarkVar + "="}
}

// tick is the unit of start times in /proc/PID/stat on every Linux we know.
const tick = 10 * time.Millisecond

const killScript = `
mark=$1 group=$2 root=$3 age=$4 var=$5 me=$$
# stat PID: sets state, parent, start.
stat() {
  s= ; l=
  { while IFS= read -r l || [ -n "$l" ]; do s="$s $l"; l=; done < /proc/$1/stat; } 2>/dev/null || return 1
  [ -n "$s" ] || return 1
  s=${s##*) }
  set -- $s
  [ $# -ge 20 ] || return 1
  state=$1 parent=$2 start=${20}
}
# class PID: sets kind to own, other, or none (no mark, or the shell's).
class() {
  kind=none ; l=
  { while IFS= read -r l || [ -n "$l" ]; do
    case $l in
    *"$mark"*) kind=own; l=; break ;;
    *"$group"*) [ "$group" != "$var" ] || kind=other ;;
    *"$var"*) kind=other ;;
    esac
    l=
  done < /proc/$1/environ; } 2>/dev/null
  return 0
}
# scan: sets found to the pids of the tree.
scan() {
  found= ; all=
  for d in /proc/[0-9]*; do
    p=${d#/proc/}
    case $p in 1|$me) continue ;; esac
    stat $p || continue
    case $state in Z|X) continue ;; esac
    class $p
    [ $kind != none ] || [ $start -ge $since ] || kind=old
    all="$all $p"
    eval "k$p=$kind P$p=$parent"
  done
  for p in $all; do
    q=$p
    while :; do
      [ $q != $root ] || { [ $q = 0 ] || found="$found $p"; break; }
      eval "kind=\${k$q-gone} parent=\${P$q-0}"
      case $kind in
      own) found="$found $p"; break ;;
      none) [ $parent != 1 ] || { found="$found $p"; break; } ;;
      *) break ;;
      esac
      q=$parent
    done
  done
}
stat $me || exit 1
since=$((start - age))
n=0
while :; do
  scan
  [ -n "$found" ] || exit 0
  [ $n -lt 200 ] || exit 1
  n=$((n + 1))
  for p in $found; do kill -STOP $p; done 2>/dev/null
  scan
  for p in $found; do kill -KILL $p; done 2>/dev/null
done
`
