package ui

import (
	"slices"
	"time"

	"rollbench/engine"
)

// prefixHits remembers each endpoint's share of prefix hits. A scrape between two
// prompts has none: on a slow endpoint the gauge would come and go.
type prefixHits map[string]hitShare

// hitShare was reported at a time.
type hitShare struct {
	share float64
	at    time.Time
	kept  bool // the newest scrape has none
}

// hitsOld is when a share is shown with its age.
const hitsOld = 3 * time.Second

// fill in the last known shares, in a copy of the status.
func (h prefixHits) fill(s *engine.Status) *engine.Status {
	c := *s
	c.Endpoints = slices.Clone(s.Endpoints)
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		last, known := h[e.URL]
		switch {
		case e.Gauges == nil:
			delete(h, e.URL)
		case e.Gauges.PrefixHitRate != nil:
			h[e.URL] = hitShare{share: *e.Gauges.PrefixHitRate, at: s.At}
		case known:
			last.kept = true
			h[e.URL] = last
			g := *e.Gauges
			g.PrefixHitRate = &last.share
			e.Gauges = &g
		}
	}
	return &c
}

// age of the share that is shown, 0 for one of the newest scrape.
func (h prefixHits) age(now time.Time, url string) time.Duration {
	if last, known := h[url]; known && last.kept && !last.at.IsZero() {
		return now.Sub(last.at)
	}
	return 0
}
