package rows

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// read all rows of files as plain JSON values.
func read(t testing.TB, files ...string) ([]any, error) {
	t.Helper()
	var out []any
	for row, err := range (Table{Files: files}).All() {
		if err != nil {
			return out, err
		}
		out = append(out, jsonValue(t, row.fields))
	}
	return out, nil
}

// jsonValue is a value after a way through JSON, where all numbers are alike.
func jsonValue(t testing.TB, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return parseTest(t, string(text))
}

func parseTest(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return sameNumbers(out)
}

// sameNumbers writes 1.0 as 1, and leaves whole numbers exact.
func sameNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(strings.TrimSuffix(v.String(), ".0"))
	case []any:
		for i := range v {
			v[i] = sameNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = sameNumbers(v[k])
		}
	}
	return v
}

// What Apache's writer was given comes back, whatever the codec, the encoding and
// the row groups.
func TestParquetEqualsWhatWasWritten(t *testing.T) {
	for rows, file := range map[string]string{
		"verified-0": "verified/data/test-00000-of-00002.parquet", "verified-1": "verified/data/test-00001-of-00002.parquet",
		"swegym": "swegym.parquet", "skyrl": "skyrl.parquet", "questions": "questions.parquet", "types": "types.parquet",
	} {
		text, err := os.ReadFile("testdata/maker/rows/" + rows + ".json")
		if err != nil {
			t.Fatal(err)
		}
		want := parseTest(t, string(text)).([]any)
		for _, row := range want {
			pairsToMap(row.(map[string]any))
		}
		got, err := read(t, "testdata/made/"+file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", file, got, want)
		}
	}
}

// pairsToMap: the maker's JSON has maps as lists of pairs.
func pairsToMap(row map[string]any) {
	pairs, ok := row["map"].([]any)
	if !ok {
		return
	}
	m := map[string]any{}
	for _, p := range pairs {
		pair := p.(map[string]any)
		m[pair["key"].(string)] = pair["value"]
	}
	row["map"] = m
}

// The values are those that parquet-testing documents for its files.
func TestParquetOfOtherWriters(t *testing.T) {
	for file, want := range map[string]string{
		"nested_lists.snappy": `[{"a":[[["a","b"],["c"]],[null,["d"]]],"b":1},
			{"a":[[["a","b"],["c","d"]],[null,["e"]]],"b":1},
			{"a":[[["a","b"],["c","d"],["e"]],[null,["f"]]],"b":1}]`,
		"nested_maps.snappy": `[{"a":{"a":{"1":true,"2":false}},"b":1,"c":1},{"a":{"b":{"1":true}},"b":1,"c":1},{"a":{"c":null},"b":1,"c":1},
			{"a":{"d":{}},"b":1,"c":1},{"a":{"e":{"1":true}},"b":1,"c":1},{"a":{"f":{"3":true,"4":false,"5":true}},"b":1,"c":1}]`,
		"datapage_v2.snappy": `[{"a":"abc","b":1,"c":2,"d":true,"e":[1,2,3]},{"a":"abc","b":2,"c":3,"d":true,"e":null},{"a":"abc","b":3,"c":4,"d":true,"e":null},
			{"a":null,"b":4,"c":5,"d":false,"e":[1,2,3]},{"a":"abc","b":5,"c":2,"d":true,"e":[1,2]}]`,
		"list_columns": `[{"int64_list":[1,2,3],"utf8_list":["abc","efg","hij"]},{"int64_list":[null,1],"utf8_list":null},{"int64_list":[4],"utf8_list":["efg",null,"hij","xyz"]}]`,
		"repeated_no_annotation": `[{"id":1,"phoneNumbers":null},{"id":2,"phoneNumbers":null},{"id":3,"phoneNumbers":{"phone":[]}},
			{"id":4,"phoneNumbers":{"phone":[{"kind":null,"number":5555555555}]}},{"id":5,"phoneNumbers":{"phone":[{"kind":"home","number":1111111111}]}},
			{"id":6,"phoneNumbers":{"phone":[{"kind":"home","number":1111111111},{"kind":null,"number":2222222222},{"kind":"mobile","number":3333333333}]}}]`,
	} {
		got, err := read(t, "testdata/foreign/"+file+".parquet")
		if want := parseTest(t, want); err != nil || !reflect.DeepEqual(any(got), want) {
			t.Errorf("%s: %v\ngot  %v\nwant %v", file, err, got, want)
		}
	}
	for _, file := range []string{"fixed_length_decimal", "int32_decimal"} { // 1.00, 2.00, … 24.00
		got, err := read(t, "testdata/foreign/"+file+".parquet")
		if err != nil || len(got) != 24 || got[23].(map[string]any)["value"] != json.Number("24") {
			t.Errorf("%s: %v %v", file, got, err)
		}
	}
}

// The second row of Impala's file has a null on every level there is.
func TestParquetNullsOfImpala(t *testing.T) {
	got, err := read(t, "testdata/foreign/nullable.impala.parquet")
	if err != nil || len(got) != 7 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	want := parseTest(t, `{"id":2,"int_Map_Array":[{"k1":1,"k3":null},null,{}],"int_array":[null,1,2,null,3,null],
		"int_array_Array":[[null,1,2,null],[3,null,4],[],null],"int_map":{"k1":2,"k2":null},
		"nested_struct":{"A":null,"b":[null],"C":{"d":[[{"E":null,"F":null},{"E":10,"F":"aaa"},{"E":null,"F":null},{"E":-10,"F":"bbb"},{"E":null,"F":null}],[{"E":11,"F":"c"},null],[],null]},
		"g":{"g1":{"H":{"i":[2.2,null]}},"g2":{"H":{"i":[]}},"g3":null,"g4":{"H":{"i":null}},"g5":{"H":null}}}}`)
	if !reflect.DeepEqual(textual(got[1]), want) {
		t.Errorf("got  %v\nwant %v", got[1], want)
	}
}

// textual: Impala does not mark its texts, which are read as bytes and so are
// base64 in JSON.
func textual(v any) any {
	known := map[string]string{"YWFh": "aaa", "YmJi": "bbb", "Yw==": "c"}
	switch v := v.(type) {
	case string:
		if text, ok := known[v]; ok {
			return text
		}
	case []any:
		for i := range v {
			v[i] = textual(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = textual(v[k])
		}
	}
	return v
}

// A file that is cut anywhere, or broken on purpose, is one clear line.
func TestParquetBroken(t *testing.T) {
	whole, err := os.ReadFile("testdata/made/types.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 13 {
		oneError(t, whole[:n])
	}
	for file, want := range map[string]string{
		"negative_page_size": "a page claims -4001 bytes", "negative_row_group_num_rows": "num_rows=-1", "lz4_raw_compressed": "compression LZ4_RAW is not read", "num_values_exceeds_data": "hold 7732 values and not 500",
	} {
		_, err := read(t, "testdata/foreign/"+file+".parquet")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", file, err)
		}
	}
	for text, want := range map[string]string{
		"":                     "does not begin with PAR1",
		"PAR1xxxxPAR1":         "broken Parquet file",
		"{\"a\": 1, \"b\": 2}": "does not begin with PAR1",
		"version https://git-lfs.github.com/spec/v1\noid sha256:0\n": "pointer of Git LFS",
	} {
		for _, err := range ParquetRows(strings.NewReader(text), int64(len(text))) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
	}
}

// oneError: the sequence ends with an error of one line.
func oneError(t *testing.T, data []byte) {
	t.Helper()
	var last error
	for _, err := range ParquetRows(bytes.NewReader(data), int64(len(data))) {
		if last != nil {
			t.Fatalf("more comes behind %v", last)
		}
		last = err
	}
	if last == nil || strings.Contains(last.Error(), "\n") || len(last.Error()) > 400 {
		t.Fatalf("%d bytes: %v", len(data), last)
	}
}

// Bytes that are wrong anywhere make neither a panic nor room for gigabytes: the
// library by itself makes both of them.
func TestParquetMutated(t *testing.T) {
	var files [][]byte
	for _, pattern := range []string{"testdata/made/*.parquet", "testdata/foreign/*.parquet"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
		}
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		data := slices.Clone(files[draw.IntN(len(files))])
		for range 1 + draw.IntN(4) {
			data[draw.IntN(len(data))] = byte(draw.IntN(256))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		errs := 0
		for _, err := range ParquetRows(bytes.NewReader(data), int64(len(data))) {
			if err != nil {
				errs++
			}
		}
		runtime.ReadMemStats(&after)
		if room := after.TotalAlloc - before.TotalAlloc; errs > 1 || room > 256<<20 {
			t.Fatalf("%d errors, %d bytes of memory for %q", errs, room, data)
		}
	}
}

func FuzzParquet(f *testing.F) {
	for _, pattern := range []string{"testdata/made/*.parquet", "testdata/foreign/*.parquet"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for row, err := range ParquetRows(bytes.NewReader(data), int64(len(data))) {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			if err == nil && !slices.IsSorted(row.Columns()) {
				t.Error("unsorted columns")
			}
			if n++; n > 10000 {
				break
			}
		}
	})
}
