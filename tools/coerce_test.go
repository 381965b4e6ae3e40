package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

const everyType = `{"type": "object", "properties": {
  "i": {"type": "integer"}, "n": {"type": "number", "maximum": 100}, "b": {"type": "boolean"}, "s": {"type": "string"},
  "e": {"enum": [1, "one", [1]]}, "w": {"type": "string", "enum": ["true", "<&"]}, "l": {"type": "array"}, "li": {"type": "array", "items": {"type": "number"}},
  "o": {"type": "object", "properties": {"i": {"type": "integer"}, "in": {"type": "object", "properties": {"b": {"type": "boolean"}}}}, "required": ["i"]},
  "u": {"type": ["integer", "null", "string"]}, "v": {"type": ["integer", "null"]}, "any": {}}}`

// coerced is what a tool with these parameters would get, or the error.
func coerced(t testing.TB, schema, arguments string) (string, error) {
	t.Helper()
	compiled, err := compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	args, err := parseArguments("x", arguments)
	if err == nil {
		err = checkArguments("x", compiled, args)
	}
	return asJSON(args), err
}

func TestCoercionByType(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"i": "5"}`, `{"i":5}`},
		{`{"i": 5.0}`, `{"i":5}`},
		{`{"i": " -5 "}`, `{"i":-5}`},
		{`{"n": "2.5"}`, `{"n":2.5}`},
		{`{"n": 1e2}`, `{"n":100}`},
		{`{"b": "True"}`, `{"b":true}`},
		{`{"b": false}`, `{"b":false}`},
		{`{"s": "5"}`, `{"s":"5"}`},
		{`{"e": 1.0}`, `{"e":1}`},
		{`{"e": [1]}`, `{"e":[1]}`},
		{`{"w": true}`, `{"w":"true"}`},
		{`{"w": "<&"}`, `{"w":"<&"}`},
		{`{"l": "[1, \"a\", {\"x\": 2.50}]"}`, `{"l":[1,"a",{"x":2.5}]}`},
		{`{"li": ["1", 2.5]}`, `{"li":[1,2.5]}`},
		{`{"o": {"i": "7", "in": {"b": "false"}, "more": 1}}`, `{"o":{"i":7,"in":{"b":false},"more":1}}`},
		{`{"o": "{\"i\": 7}"}`, `{"o":{"i":7}}`},
		{`{"u": "5"}`, `{"u":"5"}`},
		{`{"u": 5}`, `{"u":5}`},
		{`{"v": "5"}`, `{"v":5}`},
		{`{"v": null}`, `{}`},
		{`{"any": {"x": [1, 9007199254740993]}}`, `{"any":{"x":[1,9007199254740993]}}`},
	} {
		if got, err := coerced(t, everyType, tt.in); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{`{"i": "5.5"}`, `argument "i" of x must be an integer, not the string "5.5"`},
		{`{"i": true}`, `argument "i" of x must be an integer, not the boolean true`},
		{`{"n": "many"}`, `must be a number`},
		{`{"n": "NaN"}`, `must be a number`},
		{`{"n": 101}`, `do not fit`},
		{`{"b": 1}`, `must be a boolean, not the number 1`},
		{`{"b": "yes"}`, `must be a boolean`},
		{`{"s": 5}`, `must be a string`},
		{`{"e": 2}`, `argument "e" of x must be one of 1, "one", [1], not "2"`},
		{`{"l": "1, 2"}`, `must be an array`},
		{`{"o": []}`, `must be an object, not the array []`},
		{`{"o": {}}`, `do not fit`},
		{`{"o": {"i": "x"}}`, `do not fit`},
		{`{"v": "x"}`, `must be one of the types integer, null`},
		{`{"z": 1}`, `x has no argument named "z"`},
	} {
		if _, err := coerced(t, everyType, tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.in, err, tt.want)
		}
	}
	if got, err := coerced(t, `{"type": "object", "additionalProperties": {"type": "integer"}}`, `{"a": "1"}`); err != nil || got != `{"a":1}` {
		t.Errorf("additional: %s, %v", got, err)
	}
}

// What generators of schemas write: closed objects, references, alternatives.
func TestCoercionOfGeneratedSchemas(t *testing.T) {
	const closed = `{"type": "object", "additionalProperties": false, "properties": {"a": {"type": "integer"}}}`
	const patterns = `{"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "properties": {"a": {"type": "integer"}}}`
	const either = `{"type": "object", "required": ["must"], "properties": {"must": {"type": ["integer", "null"]}, "a": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
	  "t": {"oneOf": [{"type": "integer"}, {"type": "string"}]}, "c": {"const": "on"}, "ref": {"$ref": "#/$defs/A~1B"}, "p": {"$ref": "#/properties/a"}, "tree": {"$ref": "#/$defs/Tree"}},
	  "$defs": {"A/B": {"type": "object", "properties": {"n": {"type": "number"}}}, "Tree": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}}`
	for _, tt := range []struct{ schema, in, want, err string }{
		{closed, `{"a": "1"}`, `{"a":1}`, ""},
		{closed, `{"b": 1}`, "", `x has no argument named "b". The arguments of x are: a (an integer, optional).`},
		{patterns, `{"x-y": "1", "a": "2"}`, `{"a":2,"x-y":"1"}`, ""},
		{patterns, `{"x-y": 1}`, "", "do not fit"},
		{patterns, `{"y": 1}`, "", `no argument named "y"`},
		{either, `{"must": null, "a": "5"}`, `{"a":5,"must":null}`, ""},
		{either, `{"must": "1", "a": "[\"5\"]", "t": "5", "ref": "{\"n\": \"1.5\"}"}`, `{"a":[5],"must":1,"ref":{"n":1.5},"t":"5"}`, ""},
		{either, `{"must": 1, "tree": {"v": "1", "kids": [{"v": "2"}]}}`, `{"must":1,"tree":{"kids":[{"v":2}],"v":1}}`, ""},
		{either, `{"must": 1, "p": 5}`, `{"must":1,"p":5}`, ""},
		{either, `{"must": 1, "a": null}`, `{"must":1}`, ""},
		{either, `{}`, "", `needs the argument "must"`},
		{either, `{"must": 1, "a": "five"}`, "", `argument "a" of x must be an integer or an array of integers such as [1, 40], not the string "five"`},
		{either, `{"must": 1, "c": "off"}`, "", `c ("on", optional)`},
	} {
		got, err := coerced(t, tt.schema, tt.in)
		if tt.err == "" && (err != nil || got != tt.want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %s, %v; want %s%s", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestSchemasThatAreNone(t *testing.T) {
	for schema, want := range map[string]string{
		``:                                      "unexpected end",
		`{"type": "objekt"}`:                    `a schema of type "object" is needed`,
		`{"properties": {}}`:                    `a schema of type "object" is needed`,
		`{"type": "object", "required": ["a"]}`: `"a" is required and not among the properties`,
		`{"type": "object", "properties": {"a": null}}`:                        "null",
		`{"type": "object", "properties": {"a": {"type": "strin"}}}`:           "strin",
		`{"type": "object", "properties": {"a": {"items": {"type": "int"}}}}`:  "int",
		`{"type": "object", "properties": {"a": {"pattern": "("}}}`:            "pattern",
		`{"type": "object", "properties": {"a": {"$ref": "http://x.test/a"}}}`: "",
	} {
		if _, err := compile(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// What comes out of coercion is valid, and stays as it is when it comes in again.
func FuzzCoercion(f *testing.F) {
	for _, seed := range []string{`{"i":"5","n":"1e3","b":"TRUE"}`, `{"l":"[1,[2]]","li":["1"],"o":"{\"i\":1.0}"}`, `{"e":[1],"u":null,"any":{"a":1e400}}`,
		`{"o":{"i":1,"in":"{}"}}`, `{"n":"0x10","i":"1_0"}`, `{"any":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		once, err := coerced(t, everyType, arguments)
		if err != nil {
			return
		}
		if twice, err := coerced(t, everyType, once); err != nil || twice != once {
			t.Errorf("%s\nonce  %s\ntwice %s, %v", arguments, once, twice, err)
		}
	})
}
