package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/task"
)

// Judge is the endpoint that decides about answers which no rule can grade.
type Judge struct {
	URL         string   `toml:"endpoint" json:"endpoint"` // "": no judge
	Model       string   `toml:"model" json:"model"`
	KeyEnv      string   `toml:"api_key_env" json:"api_key_env"` // the NAME of the variable that holds the key
	Temperature float64  `toml:"temperature" json:"temperature"`
	MaxTokens   int      `toml:"max_tokens" json:"max_tokens"` // of its reply
	Timeout     Duration `toml:"timeout" json:"timeout"`       // of one question, its retries included
	Retries     int      `toml:"retries" json:"retries"`
	Parallel    int      `toml:"max_parallel" json:"max_parallel"` // questions at once
}

func (j Judge) check() error {
	if j.URL == "" {
		if j.Model != "" {
			return errors.New("judge.model is set and judge.endpoint is not: name the endpoint that serves it")
		}
		return nil
	}
	switch {
	case j.Model == "":
		return errors.New("judge.model is missing: name the model that judge.endpoint serves")
	case !(j.Temperature >= 0 && j.Temperature <= 10):
		return fmt.Errorf("judge.temperature is %v: use a number from 0 to 10", j.Temperature)
	case j.MaxTokens < 1:
		return fmt.Errorf("judge.max_tokens is %d: it must be at least 1", j.MaxTokens)
	case j.Timeout <= 0:
		return fmt.Errorf("judge.timeout is %v: it must be more than 0", time.Duration(j.Timeout))
	case j.Retries < 0:
		return fmt.Errorf("judge.retries is %d: it must not be negative", j.Retries)
	case j.Parallel < 1:
		return fmt.Errorf("judge.max_parallel is %d: it must be at least 1", j.Parallel)
	}
	_, err := infer.New(infer.Options{BaseURL: j.URL, Model: j.Model})
	if err != nil {
		return fmt.Errorf("judge.endpoint: %w", err)
	}
	return nil
}

// Asker asks the judge, nil where there is none. What waits for max_parallel is not
// on the question's time.
func (j Judge) Asker(key infer.Secret) task.Asker {
	if j.URL == "" {
		return nil
	}
	places := make(chan struct{}, j.Parallel)
	opt := infer.Options{BaseURL: j.URL, Setting: "judge.endpoint", Model: j.Model, Key: key, Plain: true, RequestLimit: time.Duration(j.Timeout), Retries: j.Retries}
	if j.Retries == 0 {
		opt.Retries = -1
	}
	return func(ctx context.Context, messages []task.JudgeMessage) (text string, err error) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		client, err := infer.New(opt)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		r := infer.Request{Sampling: infer.Sampling{Temperature: &j.Temperature}, MaxTokens: j.MaxTokens}
		for _, m := range messages {
			r.Messages = append(r.Messages, infer.Message{Role: m.Role, Content: m.Content})
		}
		reply, err := client.Chat(ctx, r)
		if err != nil {
			return "", err
		}
		if reply.FinishReason == "length" {
			return reply.Content, fmt.Errorf("its reply was cut after judge.max_tokens = %d", j.MaxTokens)
		}
		return reply.Content, nil
	}
}
