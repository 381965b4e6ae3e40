package cli

import (
	"context"
	"fmt"
	"strings"

	"rollbench/sessions"
)

// tampered is a trajectory with signs of tampering, as --json prints it.
type tampered struct {
	Key    sessions.Key    `json:"trajectory"`
	Reward *float64        `json:"reward"`
	Signs  []sessions.Sign `json:"signs"`
}

func readTampered(ctx context.Context, r sessions.Reader) ([]tampered, error) {
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return nil, err
	}
	list := []tampered{}
	for _, t := range rows {
		if len(t.Tampering) > 0 {
			list = append(list, tampered{t.Key, t.Reward, t.Tampering})
		}
	}
	return list, nil
}

// tamperedShown is how many the text names; --json has all.
const tamperedShown = 10

func printTampered(b *strings.Builder, list []tampered) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\nsigns of tampering in %s:\n", count(len(list), "trajectory"))
	for i, t := range list {
		if i == tamperedShown {
			fmt.Fprintf(b, "… and %d more: --json lists them\n", len(list)-i)
			return
		}
		s := t.Signs[0]
		where := "patch"
		if s.Turn > 0 {
			where = fmt.Sprintf("turn %d", s.Turn)
		}
		fmt.Fprintf(b, "%s: %s (%s): %s", word(t.Key.String()), word(s.Kind), where, word(s.What))
		if n := len(t.Signs) - 1; n > 0 {
			fmt.Fprintf(b, ", and %d more", n)
		}
		b.WriteString("\n")
	}
}
