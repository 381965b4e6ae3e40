package simulated

import "container/list"

// blockSize of the KV cache, tokens: only whole blocks are found again.
const blockSize = 16

// blocks that hold n tokens.
func blocks(n int) int { return (n + blockSize - 1) / blockSize }

// prefixes is a prefix cache: what finished requests left behind, by session.
// Prefixes that sessions share are not: each has its own.
type prefixes struct {
	of     map[string]*list.Element
	order  *list.List // of *prefix, longest unused first
	blocks int        // of all
}

// prefix is a session's prompt and reply; ids fill whole blocks.
type prefix struct {
	session string
	ids     []int32
}

func newPrefixes() prefixes { return prefixes{of: map[string]*list.Element{}, order: list.New()} }

// find says how many tokens of a prompt the cache holds.
func (p *prefixes) find(session string, prompt []int32) (cached int) {
	e, ok := p.of[session]
	if !ok {
		return 0
	}
	before := e.Value.(*prefix).ids
	for cached < len(before) && cached < len(prompt) && before[cached] == prompt[cached] {
		cached++
	}
	// The last token is always computed: its logits are needed.
	return min(cached, len(prompt)-1) / blockSize * blockSize
}

// keep a prompt with its reply in the place of what the session had.
func (p *prefixes) keep(session string, ids []int32) {
	p.drop(session)
	n := len(ids) / blockSize
	if session == "" || n == 0 {
		return
	}
	p.of[session] = p.order.PushBack(&prefix{session, ids[:n*blockSize]})
	p.blocks += n
}

func (p *prefixes) drop(session string) {
	if e, ok := p.of[session]; ok {
		p.blocks -= len(e.Value.(*prefix).ids) / blockSize
		p.order.Remove(e)
		delete(p.of, session)
	}
}

// shrink to n blocks: the last ones of the longest unused sessions go first,
// since without the first ones they would be of no use.
func (p *prefixes) shrink(n int) {
	for p.blocks > max(0, n) {
		old := p.order.Front().Value.(*prefix)
		left := len(old.ids)/blockSize - (p.blocks - max(0, n))
		if left <= 0 {
			p.drop(old.session)
			continue
		}
		old.ids = old.ids[:left*blockSize]
		p.blocks = max(0, n)
	}
}
