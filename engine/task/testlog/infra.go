package testlog

import "regexp"

// Infra is a sign, in a log without a result, that the environment broke and
// not the patch. The zero value is no sign.
type Infra struct {
	Reason string
	// Sure: nothing that a patch does to the source can plausibly cause it.
	Sure bool
}

// infraSigns in order: the first that is found is the one.
var infraSigns = []struct {
	Infra
	texts   []string
	pattern *regexp.Regexp // nil: the texts are enough, else one of them and this
}{
	{Infra{"browser_launch_failed", true}, []string{"Failed to launch", "Failed to connect to the bus"}, nil},
	{Infra{"display_unavailable", true}, []string{"cannot open display", "Missing X server", "unable to open X display"}, nil},
	{Infra{"out_of_memory", true}, []string{"Cannot allocate memory", "OutOfMemoryError"}, nil},
	{Infra{"out_of_memory", true}, []string{"Killed"}, regexp.MustCompile(`(?m)^Killed$`)},
	{Infra{"container_unavailable", true}, []string{"Error response from daemon", "Cannot connect to the Docker daemon"}, nil},
	{Infra{"network_unreachable", true}, []string{"Could not resolve host", "Temporary failure in name resolution"}, nil},
	{Infra{"missing_module", false}, []string{"Cannot find module", "MODULE_NOT_FOUND", "ModuleNotFoundError"}, nil},
	{Infra{"no_tests_collected", false}, []string{"no tests ran", "collected 0 items"}, nil},
	{Infra{"tests_timed_out", false}, []string{"Timeout error: "}, regexp.MustCompile(`Timeout error: \d+ seconds exceeded`)},
}

func infra(log string) Infra {
	for _, sign := range infraSigns {
		if hasAny(log, sign.texts) && (sign.pattern == nil || sign.pattern.MatchString(log)) {
			return sign.Infra
		}
	}
	return Infra{}
}
