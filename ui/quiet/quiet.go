// Package quiet keeps a library of the screen from asking the terminal for its
// background colour at program start: the question would stand in the output
// of every command, and on a terminal that does not answer it waits 5 s.
//
// It works by the order of initialisation that the language specifies: of the
// packages whose imports are ready, the first by import path. This one needs
// only syscall, so it comes before time, on which that library depends. The
// library does not ask where CI is set; Restore puts that back.
package quiet

import "syscall"

// unset says that CI was not set and has to be unset again.
var unset = pretend()

func pretend() bool {
	if _, ok := syscall.Getenv("CI"); ok {
		return false
	}
	return syscall.Setenv("CI", "1") == nil
}

// Restore the environment, before anything of ours reads it.
func Restore() error {
	if !unset {
		return nil
	}
	unset = false
	return syscall.Unsetenv("CI")
}
