package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

var columns = []Column{
	{Name: "name", Type: String},
	{Name: "why", Type: String, Optional: true},
	{Name: "n", Type: Int32},
	{Name: "ids", Type: Int32, List: true},
	{Name: "values", Type: Float, List: true, Optional: true},
	{Name: "score", Type: Double, Optional: true},
	{Name: "flag", Type: Bool},
}

type row struct {
	name, why string
	n         int32
	ids       []int32
	values    []float64
	score     *float64
	flag      bool
}

func (r row) write(t testing.TB, w *Writer) {
	w.Text(r.name)
	w.TextOrNull(r.why)
	w.Int(r.n)
	w.Ints(r.ids)
	w.Floats(r.values)
	w.Double(r.score)
	w.Bool(r.flag)
	if err := w.EndRow(); err != nil {
		t.Fatal(err)
	}
}

func table(t testing.TB, rows []row) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, columns)
	for _, r := range rows {
		r.write(t, w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(data []byte) ([]row, error) {
	var rows []row
	err := Read(bytes.NewReader(data), int64(len(data)), columns, func(v []Value) error {
		r := row{name: v[0].Text, why: v[1].Text, n: v[2].Int, ids: v[3].Ints, flag: v[6].Bool}
		if !v[4].Null {
			r.values = []float64{}
			for _, f := range v[4].Floats {
				r.values = append(r.values, float64(f))
			}
		}
		if !v[5].Null {
			score := v[5].Double
			r.score = &score
		}
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

func TestRoundTrip(t *testing.T) {
	score := 0.1
	rng := rand.New(rand.NewPCG(1, 2))
	rows := []row{
		{name: "a", n: -7, ids: []int32{1, 2, 3}, values: []float64{-0.5, 0}, score: &score, flag: true},
		{name: "", why: "no", ids: []int32{}, values: nil},
		{name: "ü\n", ids: []int32{1 << 30}, values: []float64{}, score: &score},
	}
	for i := range 40 {
		r := row{name: fmt.Sprint(i), n: int32(i), ids: make([]int32, rng.IntN(20)), flag: i%3 == 0}
		for j := range r.ids {
			r.ids[j] = rng.Int32()
		}
		if i%4 > 0 {
			r.values = make([]float64, rng.IntN(3))
		}
		rows = append(rows, r)
	}
	for n := range len(rows) + 1 {
		got, err := read(table(t, rows[:n]))
		if err != nil || len(got) != n || n > 0 && !reflect.DeepEqual(got, rows[:n]) {
			t.Fatalf("%d rows: %v\ngot  %v\nwant %v", n, err, got, rows[:n])
		}
	}
}

// The bytes of a page and of the schema, by the specification's text.
func TestBytes(t *testing.T) {
	var l levels
	l.add(0, 1)
	l.add(1, 2)
	l.add(1, 1)
	l.add(0, 300)
	// length; run headers are the count twice: 2, 6, 600 as 0xd8 0x04
	if got := l.appendTo(nil); !bytes.Equal(got, []byte{7, 0, 0, 0, 2, 0, 6, 1, 0xd8, 4, 0}) {
		t.Errorf("levels %v", got)
	}
	if got := appendBits(nil, []bool{true, false, false, true, false, false, false, false, true}); !bytes.Equal(got, []byte{9, 1}) {
		t.Errorf("bits %v", got)
	}
	var e encoder
	e.i32(1, -1)
	e.open(5)
	e.text(2, "ab")
	e.close()
	e.list(6, kindI32, 1)
	e.varint(3)
	if got := e.b; !bytes.Equal(got, []byte{0x15, 1, 0x4c, 0x28, 2, 'a', 'b', 0, 0x19, 0x15, 6}) {
		t.Errorf("thrift % x", got)
	}
}

// Large tables are written in row groups, and come back whole.
func TestRowGroups(t *testing.T) {
	ids := make([]int32, groupSize/12)
	var out bytes.Buffer
	w := NewWriter(&out, columns)
	for i := range 10 {
		ids[0] = int32(i)
		row{name: "x", ids: ids}.write(t, w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := read(out.Bytes())
	if err != nil || len(rows) != 10 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if len(r.ids) != len(ids) || r.ids[0] != int32(i) {
			t.Errorf("row %d: %d ids from %d", i, len(r.ids), r.ids[0])
		}
	}
	if len(w.groups) != 4 {
		t.Errorf("%d row groups, want 4: three rows each", len(w.groups))
	}
}

func TestDamaged(t *testing.T) {
	whole := table(t, []row{{name: "a", ids: []int32{1, 2}}, {name: "b"}})
	for n := range len(whole) {
		if _, err := read(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a file", n, len(whole))
		}
	}
	err := Read(bytes.NewReader(whole), int64(len(whole)), columns[:3], func([]Value) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "further columns") {
		t.Errorf("other columns: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(table(f, nil))
	f.Add(table(f, []row{{name: "a", ids: []int32{1, 2}, values: []float64{1}}, {name: "b"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err == nil && len(data) < 12 {
			t.Error("there is no room for a footer")
		}
	})
}
