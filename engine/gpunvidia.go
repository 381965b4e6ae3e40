package engine

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// nvidiaFields are what nvidia-smi is asked for, in this order. The name stands
// last: it is the vendor's text.
const nvidiaFields = "index,uuid,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,name"

// nvidia asks nvidia-smi for the GPUs of this machine; errNoSource without such a
// program.
func nvidia(ctx context.Context) ([]GPU, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, errNoSource
	}
	var out, complaint bounded
	c := exec.CommandContext(ctx, path, "--query-gpu="+nvidiaFields, "--format=csv,noheader,nounits")
	c.Stdout, c.Stderr = &out, &complaint
	c.WaitDelay = time.Second // children of a wrapper may hold the pipes
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer within %v", gpuLimit)
		}
		said := strings.TrimSpace(out.String() + "\n" + complaint.String())
		if first, _, _ := strings.Cut(said, "\n"); first != "" {
			return nil, fmt.Errorf("%w: %.200s", err, strings.ToValidUTF8(first, "\uFFFD"))
		}
		return nil, err
	}
	gpus := parseNvidia(out.String())
	if said := strings.TrimSpace(out.String()); len(gpus) == 0 && said != "" && !strings.HasPrefix(said, "No devices") {
		return nil, fmt.Errorf("its answer cannot be read: %.80q", said)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	return withHost(gpus, strings.ToLower(host)), nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

const boundedBytes = 1 << 20

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(boundedBytes-b.Len(), 0))])
	return len(p), nil
}

// parseNvidia reads the CSV of nvidia-smi. "[N/A]" and the like stay unknown, and
// so does what is no such number.
func parseNvidia(text string) []GPU {
	gpus := []GPU{}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true, true
	for {
		f, err := r.Read()
		if errors.Is(err, io.EOF) {
			return gpus
		}
		if err != nil || len(f) < 8 {
			continue
		}
		index, err := strconv.Atoi(strings.TrimSpace(f[0]))
		if err != nil || index < 0 {
			continue
		}
		g := GPU{Index: index, UUID: strings.TrimSpace(f[1]), Util: within(f[2], 0, 100), UsedMB: within(f[3], 0, 1e8), TotalMB: within(f[4], 1, 1e8),
			Watts: within(f[5], 0, 5000), Celsius: within(f[6], -50, 200), Name: strings.TrimSpace(strings.Join(f[7:], ","))}
		if !strings.HasPrefix(g.UUID, "GPU-") && !strings.HasPrefix(g.UUID, "MIG-") {
			g.UUID = ""
		}
		if g.Util != nil {
			*g.Util /= 100
		}
		gpus = append(gpus, g)
	}
}

// within bounds, or nil.
func within(s string, least, most float64) *float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v >= least && v <= most) {
		return nil
	}
	return &v
}
