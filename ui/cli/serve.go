package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"rollbench/engine/infer/simulated"
)

func (a *app) serveCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "serve-simulated",
		Short: "Serve the simulated endpoint alone",
		Long: `Serve the simulated endpoint alone: an OpenAI-compatible server (chat,
completions, tokenize, metrics as vLLM's) whose model is a stochastic policy
with exact logprobs. It knows of no task, so its policy explores and gives up.`,
		Example: "  rollbench serve-simulated --address 127.0.0.1:8000 --set simulated.tokens_per_second=200",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := a.load()
			if err != nil {
				return err
			}
			s, err := simulated.Start(c.Simulated.options(address))
			if err != nil {
				return bad(err)
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			fmt.Fprintf(a.out, "simulated endpoint at %s (ctrl+c ends it)\n", s.URL())
			<-cmd.Context().Done()
			return nil
		},
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:8000", "`HOST:PORT` to listen on")
	return c
}
