// Command rollbench is a terminal workbench for the rollouts that train LLM
// agents with reinforcement learning.
package main

import (
	_ "embed"
	"os"

	"rollbench/ui/cli"
)

//go:embed config.toml
var defaults string

func main() {
	os.Exit(cli.Main(os.Args[1:], defaults))
}
