package ui

import (
	"fmt"
	"strings"

	"rollbench/sessions"
)

// tamperGlyph marks trajectories with signs of tampering.
const tamperGlyph = "⚑"

// tampering names the signs, a line each.
func (s *section) tampering(t sessions.Trajectory) {
	if len(t.Tampering) == 0 {
		return
	}
	lines := make([]string, len(t.Tampering))
	for i, sign := range t.Tampering {
		where := "in the patch"
		if sign.Turn > 0 {
			where = fmt.Sprintf("turn %d", sign.Turn)
		}
		lines[i] = cleanLine(sign.Kind + " · " + where + ": " + sign.What)
	}
	s.add(block{id: "tampering", label: tamperGlyph + " signs", labelRole: warn, body: plain, text: strings.Join(lines, "\n"), fold: foldOutput})
}

// verifierPage is what the verifier printed, under the signs that its verdict may
// not be worth much.
func verifierPage(t sessions.Trajectory, text string, r role) *page {
	if len(t.Tampering) == 0 {
		return textPage(text, prose, r)
	}
	s := &section{}
	s.tampering(t)
	s.add(block{id: "text", label: "verifier", labelRole: dim, body: r, text: trim(text)})
	return onePage(s)
}
