package simulated

import "strings"

// The tokenizer: ids 0–255 are bytes, the ids after them are the markers of
// the chat template.
const (
	idEndOfText = int32(256 + iota)
	idStart
	idEnd // ends a turn; the policy samples it last
	idThink
	idThinkEnd
	idCall
	idCallEnd
	idResult
	idResultEnd
	idCount
)

var markers = [...]string{
	"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>",
	"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
}

// Which markers a text may hold. In what users and tools wrote none is one.
const (
	noMarkers   = 0
	replyMarker = 1<<(idThink-256) | 1<<(idThinkEnd-256) | 1<<(idCall-256) | 1<<(idCallEnd-256)
	allMarkers  = 1<<(idCount-256) - 1
)

// appendText adds the ids of text, one a byte, except for the allowed markers.
func appendText(ids []int32, text string, allowed uint) []int32 {
	for i := 0; i < len(text); {
		if text[i] == '<' && allowed != noMarkers {
			if id, size := markerAt(text[i:], allowed); size > 0 {
				ids = append(ids, id)
				i += size
				continue
			}
		}
		ids = append(ids, int32(text[i]))
		i++
	}
	return ids
}

func markerAt(text string, allowed uint) (id int32, size int) {
	for k, m := range markers {
		if allowed&(1<<k) != 0 && strings.HasPrefix(text, m) {
			return int32(256 + k), len(m)
		}
	}
	return 0, 0
}

// tokenText is the text of one id, "" for an id outside the vocabulary.
func tokenText(id int32) string {
	switch {
	case id >= 0 && id < 256:
		return string([]byte{byte(id)})
	case id >= 256 && id < idCount:
		return markers[id-256]
	}
	return ""
}

// Spell gives the texts of those ids that are in the vocabulary. Most are single
// bytes.
func Spell(ids []int32) map[int32]string {
	texts := map[int32]string{}
	for _, id := range ids {
		if text := tokenText(id); text != "" {
			texts[id] = text
		}
	}
	return texts
}

// decode ids to text with every marker spelled out.
func decode(ids []int32) string {
	var b strings.Builder
	b.Grow(len(ids))
	for _, id := range ids {
		if id >= 0 && id < 256 {
			b.WriteByte(byte(id))
		} else {
			b.WriteString(tokenText(id))
		}
	}
	return b.String()
}
