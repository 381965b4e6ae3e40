package engine

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// nvidia asks nvidia-smi for the GPUs of this machine; none when there is no
// such program or it fails (the screen then says N/A).
func nvidia(ctx context.Context) []GPU {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return []GPU{}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--query-gpu=index,name,utilization.gpu,memory.used,memory.total,power.draw",
		"--format=csv,noheader,nounits").Output()
	if err != nil {
		return []GPU{}
	}
	return parseNvidia(string(out))
}

// parseNvidia reads the CSV of nvidia-smi. "[N/A]" and the like stay unknown.
func parseNvidia(text string) []GPU {
	gpus := []GPU{}
	for line := range strings.Lines(text) {
		f := strings.Split(line, ",")
		if len(f) != 6 {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		index, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		g := GPU{Index: index, Name: f[1], Util: number(f[2]), UsedMB: number(f[3]), TotalMB: number(f[4]), Watts: number(f[5])}
		if g.Util != nil {
			*g.Util /= 100
		}
		gpus = append(gpus, g)
	}
	return gpus
}

func number(s string) *float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &v
}
