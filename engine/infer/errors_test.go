package infer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Error bodies of each server, by formats/inference.md §5 and §10.
func TestErrorBodies(t *testing.T) {
	cases := []struct {
		name   string
		status int
		body   string
		kind   ErrorKind
		text   string
	}{
		{"vllm unknown model", 404, `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}}`, BadRequest, "The model x does not exist."},
		{"vllm overflow, old", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","param":null,"code":400}}`, Overflow, "4096"},
		{"vllm overflow, new", 400, `{"error":{"message":"The model's Context Length is only 4096 tokens","type":"BadRequestError","param":"input_tokens","code":400}}`, Overflow, "only 4096"},
		{"vllm overflow by param", 400, `{"error":{"message":"too many","type":"BadRequestError","param":"input_text","code":400}}`, Overflow, "too many"},
		{"sglang flat", 400, `{"object":"error","message":"The input (9 tokens) is longer than the model's context length (4 tokens).","type":"BadRequestError","param":null,"code":400}`, Overflow, "longer than"},
		{"llama.cpp overflow", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, Overflow, "exceeds"},
		{"sglang plain", 400, `{"object":"error","message":"bad tool","type":"BadRequest","param":null,"code":400}`, BadRequest, "bad tool"},
		{"fastapi", 422, `{"detail":"field required"}`, BadRequest, "field required"},
		{"fastapi list", 422, `{"detail":[{"loc":["body"],"msg":"missing"}]}`, BadRequest, "missing"},
		{"denied", 401, `{"error":"Unauthorized, key sk-secret is unknown"}`, Denied, "key *** is unknown"},
		{"busy", 429, `{"error":{"message":"slow down"}}`, Busy, "slow down"},
		{"engine", 500, `{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`, Unavailable, "engine died"},
		{"tinker weights not yet written", 425, `{"detail":"Checkpoint is still being created"}`, Unavailable, "still being created"},
		{"not implemented", 501, `{"error":{"message":"no"}}`, BadRequest, "no"},
		{"proxy", 502, "<html>\n<head><title>502 Bad\nGateway</title></head>", Unavailable, "web page (502 Bad Gateway)"},
		{"empty", 503, "", Unavailable, "Service Unavailable"},
		{"text", 400, "what\x1b[31m is\nthis", BadRequest, "what [31m is this"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			client.opt.Key = "sk-secret"
			_, err := client.Chat(context.Background(), ask)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Kind != c.kind || e.Status != c.status || !strings.Contains(e.Message, c.text) {
				t.Errorf("got %s %d %q, want %s %d …%q…", e.Kind, e.Status, e.Message, c.kind, c.status, c.text)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("error text %q", err)
			}
		})
	}
}

func TestErrorsWithinAnswers(t *testing.T) {
	stream := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	cases := []struct {
		name, body string
		kind       ErrorKind
		text       string
	}{
		{"error object", stream + "data: {\"error\":{\"message\":\"engine died\",\"code\":500}}\n\ndata: [DONE]\n\n", Unavailable, "engine died"},
		{"overflow", stream + "data: {\"error\":{\"message\":\"maximum context length is 4\",\"code\":400}}\n\n", Overflow, "maximum"},
		{"flat", "data: {\"object\":\"error\",\"message\":\"flat one\",\"code\":400}\n\n", Unavailable, "flat one"},
		{"no finish", stream + "data: [DONE]\n\n", Unavailable, "without a finish reason"},
		{"no done", "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", Unavailable, "before the answer was whole"},
		{"cut event", stream + "data: {\"cho", Unavailable, "before the answer was whole"},
		{"cut JSON", "data: {\"cho\n\n", Unavailable, "not JSON"},
		{"nothing", "", Unavailable, "before the answer was whole"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.body) })
			r := ask
			r.Stream = func(string) {}
			_, err := client.Chat(context.Background(), r)
			var e *Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, Options{BaseURL: "http://user:hunter2@" + address + "/v1", Retries: -1})
	_, err = c.Probe(context.Background())
	want := "endpoint http://" + address + ": unavailable: nothing listens there (connection refused); start the server, or name another with --endpoint"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://h:1": "http://h:1", "http://h:1/": "http://h:1", "http://h:1/v1": "http://h:1", " http://h:1/v1/ ": "http://h:1",
		"https://h/sub/v1/": "https://h/sub", "http://u:p@h": "http://h", "http://h?x=1#y": "http://h",
	} {
		c, err := New(Options{BaseURL: base})
		if err != nil || c.URL() != want {
			t.Errorf("%q: %v, %v", base, c, err)
		}
	}
	for _, base := range []string{"", "localhost:8000", "h", "ftp://h", "http://", "http://u:hunter2@h:x y/", "://"} {
		_, err := New(Options{BaseURL: base})
		if err == nil || !strings.Contains(err.Error(), "write it like http://127.0.0.1:8000/v1") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestSecretStaysSecret(t *testing.T) {
	opt := Options{BaseURL: "http://h", Key: "sk-secret"}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", opt, opt, opt.Key, opt.Key), c.String(), fmt.Sprintf("%v %+v %#v", c, c, c)} {
		if strings.Contains(text, "sk-secret") {
			t.Errorf("the key shows in %q", text)
		}
	}
}

func TestOverflowNeedsTokens(t *testing.T) {
	c := connect(t, Options{BaseURL: "http://127.0.0.1:1"})
	_, err := c.Chat(context.Background(), Request{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != BadRequest {
		t.Errorf("got %v", err)
	}
}
