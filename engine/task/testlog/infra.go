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
	pattern *regexp.Regexp
}{
	{Infra{"browser_launch_failed", true}, regexp.MustCompile(`Failed to launch|Failed to connect to the bus`)},
	{Infra{"display_unavailable", true}, regexp.MustCompile(`cannot open display|Missing X server|unable to open X display`)},
	{Infra{"out_of_memory", true}, regexp.MustCompile(`(?m)Cannot allocate memory|OutOfMemoryError|^Killed$`)},
	{Infra{"container_unavailable", true}, regexp.MustCompile(`Error response from daemon|Cannot connect to the Docker daemon`)},
	{Infra{"network_unreachable", true}, regexp.MustCompile(`Could not resolve host|Temporary failure in name resolution`)},
	{Infra{"missing_module", false}, regexp.MustCompile(`Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError`)},
	{Infra{"no_tests_collected", false}, regexp.MustCompile(`no tests ran|collected 0 items`)},
	{Infra{"tests_timed_out", false}, regexp.MustCompile(`Timeout error: \d+ seconds exceeded`)},
}

func infra(log string) Infra {
	for _, sign := range infraSigns {
		if sign.pattern.MatchString(log) {
			return sign.Infra
		}
	}
	return Infra{}
}
