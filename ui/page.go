package ui

// page is a document that is there as a whole: a patch, a verifier's output,
// the events of a trajectory, help, messages.
type page struct{ sections []*section }

func (p *page) count() int             { return len(p.sections) }
func (p *page) section(i int) *section { return p.sections[i] }

func onePage(s *section) *page { return &page{sections: []*section{s}} }

// textPage is a page with one text in it, without a label column.
func textPage(text string, k kind, r role) *page {
	return onePage(&section{labels: 1, blocks: []block{{id: "text", body: r, kind: k, text: trim(text)}}})
}
