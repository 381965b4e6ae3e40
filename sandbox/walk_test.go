package sandbox

import (
	"slices"
	"testing"
)

func TestParseWalk(t *testing.T) {
	for _, c := range []struct {
		name, out, end string
		want           []Entry
	}{
		{"empty", "", "\x00", nil},
		{"find", "d 4096 1700000000.5 1700000000.5 1 ./pkg\x00f 12 1700000000.1234567890 1700000001.0000000010 77 ./pkg/a\nb.py\x00l 3 1.0 1.0 5 ./link\x00", "\x00",
			[]Entry{{Path: "pkg/a\nb.py", Size: 12, Mod: 1700000000123456789, Changed: 1700000001000000001, Inode: 77}}},
		{"stat", "now 1700000010/\n81a4 5 1700000000 1700000008 9 ./old/\n81a4 5 1600000000 1700000009 10 ./new/\n41ed 4096 1 1 11 ./dir/\na1ff 4 1 1 12 ./link/\n", "/\n",
			[]Entry{{Path: "old", Size: 5, Mod: 1700000000e9, Changed: 1700000008e9, Inode: 9}, {Path: "new", Size: 5, Mod: 1600000000e9, Changed: 1700000009e9, Inode: 10, Fresh: true}}},
		{"before 1970", "f 1 -1.5 2.0 3 ./x\x00", "\x00", []Entry{{Path: "x", Size: 1, Mod: -15e8, Changed: 2e9, Inode: 3}}},
	} {
		got, err := ParseWalk([]byte(c.out), c.end)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{"f 1 2 3", "f x 1 1 1 ./a\x00", "f 1 y 1 1 ./a\x00", "f 1 1 1 -4 ./a\x00", "now soon\x00"} {
		if got, err := ParseWalk([]byte(bad), "\x00"); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func FuzzParseWalk(f *testing.F) {
	f.Add([]byte("now 1700000010/\n81a4 5 1700000000 1700000008 9 ./old/\n"), true)
	f.Add([]byte("f 12 1700000000.1234567890 1700000001.0 77 ./a\x00"), false)
	f.Fuzz(func(t *testing.T, out []byte, lines bool) {
		end := "\x00"
		if lines {
			end = "/\n"
		}
		entries, err := ParseWalk(out, end)
		if err != nil && entries != nil {
			t.Fatal("entries beside an error")
		}
		for _, e := range entries {
			if e.Path == "" {
				t.Fatalf("no path: %+v", e)
			}
		}
	})
}
