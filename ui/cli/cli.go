// Package cli is the command line: the commands, one file each, the config,
// signals and the wiring of everything below.
package cli

import "fmt"

// Main runs the command line and returns the exit code: 0 done, 1 the work
// failed, 2 the input was bad.
func Main(args []string, defaults string) int {
	fmt.Println("rollbench")
	return 0
}
