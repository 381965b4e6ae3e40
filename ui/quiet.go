package ui

import "rollbench/ui/quiet"

// restored is set when the packages that ask the terminal at program start are
// initialised: the environment is the person's again.
var restored = quiet.Restore()
