package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

func offerCopies(w *Workbench, _ string) []offer {
	out := []offer{{"block", "what the cursor is on"}, {"turn", "all of the turn, also what is folded"}, {"view", "all of what the view shows: every turn, or the whole page"}, {"patch", "the patch as git takes it"}, {"name", "the chosen name"}, {"run", "the run's id and the chosen name"}}
	if w.sheet != nil {
		out = append(out, offer{"sheet", "all of " + w.sheet.title})
	}
	return out
}

// doCopyTyped copies more than a block. What is long is read in a command, and goes
// where its length allows.
func doCopyTyped(w *Workbench, what string) (tea.Cmd, error) {
	t, one := w.list.chosen()
	switch {
	case what == "name":
		if g, some := w.list.chosenGroup(); !one && some {
			return w.copyText("the instance's name", g.instance), nil
		}
		return w.copyText("its name", t.Key.String()), nil
	case what == "run":
		return doCopyID(w), nil
	case what == "sheet" && w.sheet != nil:
		return w.copySheet()
	case what == "block":
		w.closeSheet()
		if why := canCopy(w); why != "" {
			return nil, errors.New(why)
		}
		return doCopy(w), nil
	case !one:
		return nil, errors.New("choose one trajectory first (a group is chosen)")
	case what == "patch":
		return w.copyPatch(t), nil
	case what == "view" && w.tab.ofPage():
		text := &pile{}
		text.document(w.document())
		return w.copyPile("the "+tabNames[w.tab], text), nil
	case w.turns.last == 0:
		return nil, errors.New("it has no turn yet")
	case what == "turn":
		n, _ := w.turnHere()
		return w.copyTurns(fmt.Sprintf("turn %d", n), n, n), nil
	}
	return w.copyTurns("all of the "+tabNames[w.copiedTab()], 1, w.turns.last), nil
}

// copySheet copies the sheet's page, where all of it is there.
func (w *Workbench) copySheet() (tea.Cmd, error) {
	if w.sheet.output != nil {
		return nil, errors.New("a full output is not copied from here: rollbench output prints it")
	}
	in := w.sheetBox()
	text := &pile{}
	text.document(w.sheet.page(in.w, in.h))
	return w.copyPile("the page", text), nil
}

// copiedTab is the view whose text is copied: tokens have none of their own.
func (w *Workbench) copiedTab() tab {
	switch {
	case w.tab == tokensTab:
		return rawTab
	case w.tab.ofTurn():
		return w.tab
	}
	return textTab
}

// copyTurns reads turns as the view shows them, a few at a time.
func (w *Workbench) copyTurns(what string, from, to int) tea.Cmd {
	c := w.turns
	read := turnReader{w.opt.Reader, w.spelling(), w.copiedTab(), c.key, c.attempt}
	out := w.opt.Output
	return w.job(func(ctx context.Context) tea.Msg {
		text := &pile{}
		for n := from; n <= to && ctx.Err() == nil; n += huntTurns {
			last := min(n+huntTurns-1, to)
			m := read.views(ctx, n, last)
			if m.err != nil {
				text.drop()
				return copiedMsg{"could not copy: " + m.err.Error(), false}
			}
			for i := n; i <= last; i++ {
				if s := m.views[i]; s != nil {
					text.section(s)
				}
			}
		}
		return text.deliver(ctx, out, what)
	})
}

func (w *Workbench) copyPile(what string, text *pile) tea.Cmd {
	out := w.opt.Output
	return w.job(func(ctx context.Context) tea.Msg { return text.deliver(ctx, out, what) })
}

// copyPatch copies the patch as it is: it must apply. One with characters that a
// terminal obeys goes into a file: pasted, they would be typed.
func (w *Workbench) copyPatch(t sessions.Trajectory) tea.Cmd {
	r, out := w.opt.Reader, w.opt.Output
	return w.job(func(ctx context.Context) tea.Msg {
		data, err := r.Patch(ctx, t.Key)
		switch {
		case err != nil:
			return copiedMsg{"could not copy: " + err.Error(), false}
		case len(data) == 0:
			return copiedMsg{"there is no patch to copy", false}
		case obeyed(string(data)):
			return toFile(string(data), "it has control characters, which a paste would type: the patch")
		}
		return deliver(ctx, out, "the patch", string(data))
	})
}

// obeyed reports whether a text has control characters besides line ends and tabs.
func obeyed(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 })
}

// pile collects a text. What is too long for a clipboard goes into a file as it
// comes: a transcript may have 100 MB.
type pile struct {
	b    strings.Builder
	file *os.File
	err  error
}

func (p *pile) write(text string) {
	if p.err != nil {
		return
	}
	if p.file == nil && p.b.Len()+len(text) > maxTmux {
		if p.file, p.err = os.CreateTemp("", "rollbench-copy-*.txt"); p.err != nil {
			return
		}
		_, p.err = p.file.WriteString(p.b.String())
		p.b.Reset()
	}
	if p.file != nil && p.err == nil {
		_, p.err = p.file.WriteString(text)
	} else {
		p.b.WriteString(text)
	}
}

func (p *pile) document(d document) {
	for i := range d.count() {
		if s := d.section(i); s != nil {
			p.section(s)
		}
	}
}

// section as text: a heading on a line, a label in brackets above its text.
func (p *pile) section(s *section) {
	for i := range s.blocks {
		b := &s.blocks[i]
		switch {
		case b.kind == heading:
			p.write("── " + b.title.text() + " ──")
			if right := b.right.text(); right != "" {
				p.write(" " + right)
			}
		case b.kind == cells:
			p.write(strings.TrimRight(b.title.text(), " "))
		case s.labels > 0 && b.label != "":
			p.write(strings.TrimSpace(b.label) + "\t" + b.text)
		case b.label != "":
			p.write("[" + strings.TrimSpace(b.label) + "]\n" + b.text)
		default:
			p.write(b.text)
		}
		p.write("\n")
	}
	p.write("\n")
}

// text of a line without its roles.
func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// drop what was collected.
func (p *pile) drop() {
	if p.file != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name())
	}
}

// deliver the text, or say where it is.
func (p *pile) deliver(ctx context.Context, out io.Writer, what string) tea.Msg {
	if p.file == nil && p.err == nil {
		return deliver(ctx, out, what, strings.TrimRight(p.b.String(), "\n")+"\n")
	}
	if p.file != nil {
		if err := p.file.Close(); p.err == nil {
			p.err = err
		}
	}
	if p.err != nil {
		return copiedMsg{"could not copy: " + p.err.Error(), false}
	}
	return copiedMsg{fmt.Sprintf("too long for a clipboard: %s is in %s", what, p.file.Name()), true}
}
