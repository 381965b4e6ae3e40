package testlog

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// doctest reads the XML report of a doctest binary (-s -r=xml): a subcase, with
// the name of its case, passes when all expressions below it do. A report that
// is not XML gives nothing.
func doctest(log string) Results {
	start := strings.Index(log, "<doctest")
	if start < 0 {
		return Results{}
	}
	end := strings.Index(log[start:], "</doctest>")
	if end < 0 {
		return Results{}
	}
	found, err := readDoctest(log[start : start+end+len("</doctest>")])
	if err != nil {
		return Results{}
	}
	return found
}

// openElement of a report. Subcases nest, and fail with what is below them.
type openElement struct {
	kind, name string
	failed     bool
}

func readDoctest(report string) (Results, error) {
	dec := xml.NewDecoder(strings.NewReader(report))
	found := Results{}
	var stack []openElement
	var cases []string // names of the open cases
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := openElement{kind: t.Name.Local, name: attr(t, "name")}
			e.failed = e.kind == "Expression" && attr(t, "success") != "true"
			if e.kind == "TestCase" {
				cases = append(cases, e.name)
			}
			stack = append(stack, e)
		case xml.EndElement: // the decoder has checked that it matches
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if top.failed && len(stack) > 0 {
				stack[len(stack)-1].failed = true
			}
			if top.kind == "TestCase" {
				cases = cases[:len(cases)-1]
			}
			if top.kind == "SubCase" && len(cases) > 0 {
				s := Passed
				if top.failed {
					s = Failed
				}
				found[cases[len(cases)-1]+" > "+top.name] = s
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
