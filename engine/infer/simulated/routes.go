package simulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds a request, bytes.
const maxBody = 64 << 20

// version is answered by /version; it names no release of a real engine.
const version = "simulated"

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	post := func(path string, handle func(http.ResponseWriter, *http.Request, Fault) error) {
		mux.HandleFunc("POST "+path, s.counted(handle))
	}
	if s.opt.Like == LikeTinker {
		s.tinkerRoutes(mux, post)
		return s.guarded(mux)
	}
	post("/v1/chat/completions", s.chat)
	post("/v1/completions", s.completions)
	post("/tokenize", s.tokenize)
	post("/detokenize", s.detokenize)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	if s.opt.Like == LikeSGLang {
		s.sglangRoutes(mux, post)
		return s.guarded(mux)
	}
	post("/inference/v1/generate", s.generate)
	post("/abort_requests", s.abortRequests)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"version": version})
	})
	mux.HandleFunc("GET /metrics", s.metrics)
	return s.guarded(mux)
}

// guarded lets Close wait for every handler, and answers a panic instead of
// printing it: standard error belongs to a screen.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.load.begin() {
			panic(http.ErrAbortHandler) // closing: the connection ends without an answer
		}
		defer s.load.handlers.Done()
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				panic(p) // the server ends the connection quietly
			} else if p != nil {
				s.refuse(w, r, fmt.Errorf("simulated endpoint broke: %v", p))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// refusal is an error answer in vLLM's shape.
type refusal struct {
	status  int
	kind    string
	message string
	param   string
}

func (e *refusal) Error() string { return e.message }

func badRequest(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, kind: "BadRequestError", message: fmt.Sprintf(format, args...)}
}

// counted plays faults and answers a handler's errors.
func (s *Server) counted(handle func(http.ResponseWriter, *http.Request, Fault) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fault := s.nextFault(r.URL.Path)
		if fault.before(w, r) {
			return
		}
		if fault.CutAfter > 0 {
			w = &cutWriter{w, fault.CutAfter}
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err := handle(w, r, fault)
		if err != nil && r.Context().Err() == nil { // else the client has gone: nobody to tell
			s.refuse(w, r, err)
		}
	}
}

// refuse in the shape of the server that this one looks like.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := &refusal{status: http.StatusInternalServerError, kind: "InternalServerError", message: err.Error()}
	errors.As(err, &e)
	var param any
	if e.param != "" {
		param = e.param
	}
	body := map[string]any{"message": e.message, "type": e.kind, "param": param, "code": e.status}
	switch {
	case s.opt.Like == LikeTinker:
		body = map[string]any{"detail": e.message}
	case s.opt.Like == LikeSGLang && strings.HasPrefix(r.URL.Path, "/v1/"):
		body["object"] = "error"
	default:
		body = map[string]any{"error": body}
	}
	answer(w, e.status, body)
}

// decodeBody reads to the body's end: only then does the server notice a
// client that goes away.
func decodeBody(r *http.Request, into any) error {
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return badRequest("the request's body cannot be read: %v", err)
	}
	return nil
}

func answer(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"answer cannot be encoded"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write(w, data)
}

// write an answer. A failure means that the client has gone, which the
// request's context reports.
func write(w http.ResponseWriter, data []byte) bool {
	_, err := w.Write(data)
	return err == nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{
		"id": s.opt.Model, "object": "model", "created": 0, "owned_by": Owner,
		"root": s.opt.Model, "parent": nil, "max_model_len": s.opt.MaxModelLen,
	}}})
}

func (s *Server) checkModel(name string) error {
	if name == "" || name == s.opt.Model {
		return nil
	}
	return &refusal{status: http.StatusNotFound, kind: "NotFoundError", message: fmt.Sprintf("The model `%s` does not exist.", name), param: "model"}
}

type tokenizeBody struct {
	Model    string            `json:"model"`
	Prompt   *string           `json:"prompt"`
	Messages []message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Generate *bool             `json:"add_generation_prompt"`
	Strings  bool              `json:"return_token_strs"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request, _ Fault) error {
	var body tokenizeBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if err := s.checkModel(body.Model); err != nil {
		return err
	}
	var ids []int32
	switch {
	case body.Prompt != nil:
		ids = appendText(nil, *body.Prompt, allMarkers)
	case len(body.Messages) > 0:
		var err error
		if ids, err = render(body.Messages, body.Tools, body.Generate == nil || *body.Generate); err != nil {
			return badRequest("%v", err)
		}
	default:
		return badRequest("neither prompt nor messages were given")
	}
	out := appendIDs([]byte(`{"count":`+fmt.Sprint(len(ids))+`,"max_model_len":`+fmt.Sprint(s.opt.MaxModelLen)+`,"tokens":`), ids)
	out = append(out, `,"token_strs":`...)
	if body.Strings {
		strs := make([]string, len(ids))
		for i, id := range ids {
			strs[i] = tokenText(id)
		}
		list, err := json.Marshal(strs)
		if err != nil {
			return fmt.Errorf("token strings: %w", err)
		}
		out = append(out, list...)
	} else {
		out = append(out, "null"...)
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, append(out, '}'))
	return nil
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request, _ Fault) error {
	var body struct {
		Model  string `json:"model"`
		Tokens idList `json:"tokens"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if err := s.checkModel(body.Model); err != nil {
		return err
	}
	if err := checkIDs(body.Tokens); err != nil {
		return err
	}
	name := "prompt"
	if s.opt.Like == LikeSGLang {
		name = "text"
	}
	answer(w, http.StatusOK, map[string]string{name: strings.ToValidUTF8(decode(body.Tokens), "\uFFFD")})
	return nil
}

func checkIDs(ids []int32) error {
	for i, id := range ids {
		if id < 0 || id >= idCount {
			return badRequest("token id %d at position %d is outside the vocabulary of %d", id, i, idCount)
		}
	}
	return nil
}
