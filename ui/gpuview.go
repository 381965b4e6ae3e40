package ui

import (
	"fmt"
	"time"

	"rollbench/engine"
)

// gpus are one cell each, two cells a row; more than eight become one row of
// the busiest and the mean. Nobody sees them once nothing runs; numbers of a run
// that is silent are not those of now.
func (p *gaugePane) gpus(w int, now time.Time) []line {
	if p.status == nil || p.ended || p.gone {
		return nil
	}
	gpus := p.status.GPUs
	if !p.watched(now) {
		gpus = make([]engine.GPU, len(gpus))
		for i, g := range p.status.GPUs {
			gpus[i] = engine.GPU{Host: g.Host, Index: g.Index, Part: g.Part, TotalMB: g.TotalMB}
		}
	}
	hosts := gpuHosts(gpus)
	if len(gpus) > 8 {
		return []line{manyGPUs(gpus, len(hosts))}
	}
	names, name := gpuNames(gpus, len(hosts) > 1), 0
	for _, n := range names {
		name = max(name, width(n))
	}
	lines := []line{}
	for i := 0; i < len(gpus); i += 2 {
		cell := min(w/2, 60)
		l := clip(gpuCell(gpus[i], pad(names[i], name)), cell)
		if i+1 < len(gpus) {
			l.add(plain, spaces(cell-l.width()))
			l = append(l, gpuCell(gpus[i+1], pad(names[i+1], name))...)
		}
		lines = append(lines, l)
	}
	return lines
}

// gpuHosts that the GPUs are on.
func gpuHosts(gpus []engine.GPU) map[string]bool {
	hosts := map[string]bool{}
	for _, g := range gpus {
		hosts[g.Host] = true
	}
	return hosts
}

// gpuNames: gpu0, of a MIG instance gpu0/1, on several hosts node3:0.
func gpuNames(gpus []engine.GPU, hosts bool) []string {
	names := make([]string, len(gpus))
	for i, g := range gpus {
		names[i] = fmt.Sprintf("gpu%d", g.Index)
		if hosts {
			names[i] = fmt.Sprintf("%s:%d", cut(cleanLine(g.Host), 14), g.Index)
		}
		if g.Part != "" {
			names[i] += "/" + cut(cleanLine(g.Part), 3)
		}
	}
	return names
}

// gpuCell is utilisation, memory, power and temperature; each may be missing on
// its own.
func gpuCell(g engine.GPU, name string) line {
	l := line{{dim, " " + name + " "}}
	util := share(g.Util, 10)
	l = append(l, util...)
	l.add(plain, spaces(14-util.width())) // a column each: the eye runs down them
	used := memory(g.UsedMB) + "/" + memory(g.TotalMB)
	if g.UsedMB == nil && g.TotalMB == nil {
		used = "N/A"
	}
	l.add(plain, padLeft(used, 8)+" GB"+padLeft(whole1(g.Watts), 5)+" W"+padLeft(whole1(g.Celsius), 5)+" °C")
	return l
}

// whole1 is a number without decimals, N/A when not reported.
func whole1(v *float64) string {
	if v == nil {
		return "N/A"
	}
	return fmt.Sprintf("%.0f", *v)
}

// memory in GB from MB (both in powers of 1024, as nvidia-smi counts).
func memory(mb *float64) string {
	if mb == nil {
		return "N/A"
	}
	return fmt.Sprintf("%.0f", *mb/1024)
}

// manyGPUs names the busiest beside the mean, so that one idle GPU is not hidden.
func manyGPUs(gpus []engine.GPU, hosts int) line {
	maxUtil, meanUtil := spread(gpus, func(g engine.GPU) *float64 { return g.Util })
	maxMem, meanMem := spread(gpus, func(g engine.GPU) *float64 { return g.UsedMB })
	_, meanWatts := spread(gpus, func(g engine.GPU) *float64 { return g.Watts })
	maxHeat, meanHeat := spread(gpus, func(g engine.GPU) *float64 { return g.Celsius })
	l := line{{dim, fmt.Sprintf(" %d gpus ", len(gpus))}}
	if hosts > 1 {
		l = line{{dim, fmt.Sprintf(" %d gpus on %d hosts ", len(gpus), hosts)}}
	}
	l.add(dim, "mean ")
	l = append(l, share(meanUtil, 10)...)
	l.add(dim, " max ")
	l.add(plain, percent(maxUtil))
	l.add(plain, "  "+memory(meanMem)+" GB")
	l.add(dim, " max ")
	l.add(plain, memory(maxMem)+" GB  "+amount(meanWatts)+" W  "+whole1(meanHeat)+" °C")
	l.add(dim, " max ")
	l.add(plain, whole1(maxHeat)+" °C")
	return l
}

// spread is the largest and the mean of what is reported, nil when nothing is.
func spread(gpus []engine.GPU, get func(engine.GPU) *float64) (most, mean *float64) {
	sum, n, top := 0.0, 0, 0.0
	for _, g := range gpus {
		if v := get(g); v != nil {
			if n == 0 || *v > top {
				top = *v
			}
			sum += *v
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	sum /= float64(n)
	return &top, &sum
}
