// Command maker writes the Parquet files of ../made from the JSON rows of ./rows
// with Apache's own Go implementation, so that the reader under test does not
// read what its own library wrote:
//
//	go run . ../made
//
// It is a module of its own: rollbench does not depend on arrow-go.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var (
	text    = arrow.BinaryTypes.String
	texts   = arrow.ListOf(text)
	number  = arrow.PrimitiveTypes.Int64
	message = arrow.StructOf(field("content", text), field("role", text))
)

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func fields(t arrow.DataType, names ...string) (out []arrow.Field) {
	for _, n := range names {
		out = append(out, field(n, t))
	}
	return out
}

// swebench are the columns of SWE-bench: all are strings.
var swebench = fields(text, "repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "hints_text", "created_at", "version", "FAIL_TO_PASS", "PASS_TO_PASS", "environment_setup_commit")

var tables = []struct {
	file, rows string
	schema     []arrow.Field
	codec      compress.Compression
	dictionary bool
	group      int64 // rows of a row group
	v2         bool  // data pages of version 2
}{
	{"verified/data/test-00000-of-00002.parquet", "verified-0", append(swebench[:12:12], field("difficulty", text)), compress.Codecs.Snappy, true, 100, false},
	{"verified/data/test-00001-of-00002.parquet", "verified-1", append(swebench[:12:12], field("difficulty", text)), compress.Codecs.Snappy, true, 100, false},
	{"swegym.parquet", "swegym", append(fields(text, "instance_id", "hints_text", "patch", "test_patch", "created_at", "problem_statement", "repo", "base_commit", "version"),
		fields(texts, "PASS_TO_PASS", "FAIL_TO_PASS")...), compress.Codecs.Zstd, true, 1, true},
	{"skyrl.parquet", "skyrl", []arrow.Field{field("prompt", arrow.ListOf(message)), field("data_source", text), field("ability", text),
		field("instance", arrow.StructOf(append(fields(text, "instance_id", "repo", "base_commit", "problem_statement", "expected_output_json", "parsed_commit_content"), field("num_non_test_files", number))...))},
		compress.Codecs.Gzip, true, 100, false},
	{"questions.parquet", "questions", []arrow.Field{field("id", text), field("question", text), field("golden_answers", texts), field("data_source", text),
		field("prompt", arrow.ListOf(message)), field("ability", text),
		field("reward_model", arrow.StructOf(field("ground_truth", arrow.StructOf(field("target", texts))), field("style", text))),
		field("extra_info", arrow.StructOf(field("index", number), field("split", text))), field("metadata", text)},
		compress.Codecs.Uncompressed, false, 2, false},
	{"types.parquet", "types", []arrow.Field{field("flag", arrow.FixedWidthTypes.Boolean), field("small", arrow.PrimitiveTypes.Int32), field("unsigned", arrow.PrimitiveTypes.Uint32),
		field("large", number), field("ratio", arrow.PrimitiveTypes.Float64), field("half", arrow.PrimitiveTypes.Float32), field("name", text),
		field("lists", arrow.ListOf(texts)), field("structs", arrow.ListOf(arrow.StructOf(field("a", number), field("b", texts)))),
		field("map", arrow.MapOf(text, number)), field("inner", arrow.StructOf(field("x", number), field("y", arrow.StructOf(field("z", text)))))},
		compress.Codecs.Brotli, true, 2, true},
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . ../made")
	}
	for _, t := range tables {
		out := filepath.Join(os.Args[1], t.file)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			log.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join("rows", t.rows+".json"))
		if err != nil {
			log.Fatal(err)
		}
		schema := arrow.NewSchema(t.schema, nil)
		record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader(data))
		if err != nil {
			log.Fatalf("%s: %v", t.rows, err)
		}
		options := []parquet.WriterProperty{parquet.WithCompression(t.codec), parquet.WithDictionaryDefault(t.dictionary), parquet.WithMaxRowGroupLength(t.group)}
		if t.v2 {
			options = append(options, parquet.WithDataPageVersion(parquet.DataPageV2))
		}
		f, err := os.Create(out)
		if err != nil {
			log.Fatal(err)
		}
		w, err := pqarrow.NewFileWriter(schema, f, parquet.NewWriterProperties(options...), pqarrow.DefaultWriterProps())
		if err != nil {
			log.Fatal(err)
		}
		if err := w.Write(record); err != nil {
			log.Fatalf("%s: %v", t.file, err)
		}
		if err := w.Close(); err != nil {
			log.Fatal(err)
		}
		fmt.Println(out)
	}
}
