package sandbox

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Entry is a regular file as Walk lists it. Two listings that agree in all of an
// entry speak of the same content, unless Fresh.
type Entry struct {
	Path    string // below the folder, with slashes
	Size    int64
	Mod     int64  // time of the last change of the content, ns since 1970
	Changed int64  // time of the last change of the inode, ns: no program can set it
	Inode   uint64 // a file that was moved here has another
	// Fresh: times are known in seconds only, and the file changed within the second
	// of the listing or the one before. A later change may look the same.
	Fresh bool
}

// WalkNow begins a listing whose times are seconds: it is followed by the time of
// the listing.
const WalkNow = "now "

// ParseWalk reads "TYPE SIZE MOD CHANGED INODE PATH" records that end with end.
// TYPE is f for a regular file, or the hexadecimal mode of stat; times are in
// seconds, with or without a fraction. What is no regular file is left out.
func ParseWalk(out []byte, end string) ([]Entry, error) {
	var entries []Entry
	now, seconds := int64(0), false
	for record := range bytes.SplitSeq(out, []byte(end)) {
		if len(record) == 0 {
			continue
		}
		if rest, ok := bytes.CutPrefix(record, []byte(WalkNow)); ok && !seconds && len(entries) == 0 {
			t, err := walkTime(string(rest))
			if err != nil {
				return nil, fmt.Errorf("time of the listing: %w", err)
			}
			now, seconds = t, true
			continue
		}
		e, regular, err := parseEntry(record)
		if err != nil {
			return nil, err
		}
		if !regular {
			continue
		}
		e.Fresh = seconds && e.Changed >= now-int64(time.Second)
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(record []byte) (e Entry, regular bool, err error) {
	var field [5]string
	rest := record
	for i := range field {
		word, after, ok := bytes.Cut(rest, []byte(" "))
		if !ok {
			return e, false, fmt.Errorf("cannot read the entry %q", record)
		}
		field[i], rest = string(word), after
	}
	if field[0] != "f" {
		mode, err := strconv.ParseUint(field[0], 16, 32)
		if err != nil || mode&0o170000 != 0o100000 {
			return e, false, nil // a folder, a link, or a letter for one
		}
	}
	e.Path = strings.TrimPrefix(string(rest), "./")
	if e.Size, err = strconv.ParseInt(field[1], 10, 64); err == nil {
		e.Mod, err = walkTime(field[2])
	}
	if err == nil {
		e.Changed, err = walkTime(field[3])
	}
	if err == nil {
		e.Inode, err = strconv.ParseUint(field[4], 10, 64)
	}
	if err != nil {
		return e, false, fmt.Errorf("cannot read the entry %q: %w", record, err)
	}
	return e, e.Path != "", nil
}

// walkTime reads "1700000000.0123456780", seconds of ten digits' fraction, as ns.
func walkTime(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, err
	}
	if fraction == "" {
		return sec * int64(time.Second), nil
	}
	if strings.ContainsAny(fraction, "+-") {
		return 0, fmt.Errorf("%q is no time", s)
	}
	fraction = (fraction + "000000000")[:9]
	ns, err := strconv.ParseInt(fraction, 10, 64)
	if strings.HasPrefix(whole, "-") {
		ns = -ns
	}
	return sec*int64(time.Second) + ns, err
}
