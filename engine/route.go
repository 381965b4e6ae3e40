package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// route is the way of one trajectory to the endpoints: an agent.Model. It stays
// on the endpoint of its first call, whose prefix cache knows the trajectory,
// until that one is down and another is not. It belongs to the trajectory's loop.
type route struct {
	engine *Engine
	t      *trajectory
	on     bool // counted on an endpoint
	at     int  // which, once on
}

// leave gives the trajectory's place on its endpoint back. It may be called
// again.
func (r *route) leave() {
	if r.on {
		r.on = false
		r.engine.fleet.leave(r.at)
	}
}

// try makes a call at the trajectory's endpoint and, as long as there is a
// healthy one that has not failed it, at another.
func (r *route) try(ctx context.Context, call func(u Upstream) error) error {
	f := r.engine.fleet
	if len(f.all) == 0 {
		return errNoModel
	}
	if !r.on {
		r.at, r.on = f.enter(), true
	}
	var failed []int
	for {
		err := call(f.all[r.at])
		var e *infer.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &e) || e.Kind != infer.Unavailable {
			return err
		}
		failed = append(failed, r.at)
		to, ok := f.move(failed, err)
		if !ok {
			return err
		}
		text := fmt.Sprintf("endpoint %s is down, the trajectory goes on at %s: %s", f.all[r.at].Client.URL(), f.all[to].Client.URL(), line(err))
		r.at = to
		if err := r.engine.commit(ctx, r.t.key, sessions.KindWarning, sessions.Warning{Text: text}); err != nil {
			return err
		}
	}
}

// sample makes a call for a reply. What was streamed of one that failed is void.
func (r *route) sample(ctx context.Context, stream func(string), restart func(), call func(c *infer.Client, stream func(string)) (infer.Reply, error)) (reply infer.Reply, err error) {
	streamed := false
	deliver := func(text string) {
		streamed = true
		stream(text)
	}
	err = r.try(ctx, func(u Upstream) error {
		if streamed && restart != nil {
			restart()
		}
		streamed = false
		into := deliver
		if stream == nil || !u.Streaming {
			into = nil
		}
		var err error
		reply, err = call(u.Client, into)
		return err
	})
	if err == nil {
		err = r.engine.seePolicy(ctx, r.t, reply.PolicyVersion)
	}
	return reply, err
}

// Chat at the trajectory's endpoint.
func (r *route) Chat(ctx context.Context, q infer.Request) (infer.Reply, error) {
	return r.sample(ctx, q.Stream, q.Restart, func(c *infer.Client, stream func(string)) (infer.Reply, error) {
		q.Stream = stream
		return c.Chat(ctx, q)
	})
}

// Complete at the trajectory's endpoint.
func (r *route) Complete(ctx context.Context, q infer.TokenRequest) (infer.Reply, error) {
	return r.sample(ctx, q.Stream, q.Restart, func(c *infer.Client, stream func(string)) (infer.Reply, error) {
		q.Stream = stream
		return c.Complete(ctx, q)
	})
}

// Tokenize at the trajectory's endpoint.
func (r *route) Tokenize(ctx context.Context, m []infer.Message, t []infer.Tool, generate bool) (ids []int32, err error) {
	err = r.try(ctx, func(u Upstream) error {
		ids, err = u.Client.Tokenize(ctx, m, t, generate)
		return err
	})
	return ids, err
}

// Detokenize at the trajectory's endpoint.
func (r *route) Detokenize(ctx context.Context, ids []int32) (text string, err error) {
	err = r.try(ctx, func(u Upstream) error {
		text, err = u.Client.Detokenize(ctx, ids)
		return err
	})
	return text, err
}

// policies are the versions of the weights that groups were sampled with.
type policies struct {
	mu    sync.Mutex        // guards both
	first map[string]string // by instance
	mixed map[string]bool   // said so
}

// seePolicy says once that a group is sampled with more than one version, also of a reply
// that came when its call was ended.
func (e *Engine) seePolicy(ctx context.Context, t *trajectory, version string) error {
	ctx = context.WithoutCancel(ctx)
	if version == "" {
		return nil
	}
	p := &e.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first, p.mixed = map[string]string{}, map[string]bool{}
	}
	group := t.key.Instance
	if p.first[group] == "" {
		recorded, err := e.recordedPolicy(ctx, group)
		if err != nil {
			return err
		}
		p.first[group] = version
		if recorded != "" {
			p.first[group] = recorded
		}
	}
	if p.first[group] == version || p.mixed[group] {
		return nil
	}
	p.mixed[group] = true
	return e.commit(ctx, t.key, sessions.KindWarning, sessions.Warning{
		Text: fmt.Sprintf("the group of %s is sampled with policy version %s and now %s", group, p.first[group], version)})
}

// recordedPolicy is the version of the first turn that an earlier part of the
// run recorded of a group, "" when there is none.
func (e *Engine) recordedPolicy(ctx context.Context, group string) (string, error) {
	for _, t := range e.all() {
		if t.key.Instance != group || !t.begun {
			continue
		}
		turns, err := e.store.Turns(ctx, t.key, 0, 1, 1, false)
		if err != nil {
			return "", err
		}
		for i := range turns {
			if turns[i].PolicyVersion != "" {
				return turns[i].PolicyVersion, nil
			}
		}
	}
	return "", nil
}
