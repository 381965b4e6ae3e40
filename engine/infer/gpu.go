package infer

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// GPU as a source reports it. A number that is not reported is nil.
type GPU struct {
	Host  string `json:"host,omitempty"` // "" where the source does not say
	Index int    `json:"index"`          // within its host, -1 where the source does not say
	Part  string `json:"mig,omitempty"`  // the MIG instance, "" for the whole GPU
	UUID  string `json:"uuid,omitempty"`
	Name  string `json:"name"`

	Util    *float64 `json:"util"` // 0..1
	UsedMB  *float64 `json:"used_mb"`
	TotalMB *float64 `json:"total_mb"`
	Watts   *float64 `json:"watts"`
	Celsius *float64 `json:"celsius"`
}

// gpuField is what of a GPU a metric tells.
type gpuField uint8

const (
	gpuUtil gpuField = iota
	gpuEngine
	gpuUsed
	gpuFree
	gpuReserved
	gpuTotal
	gpuWatts
	gpuCelsius
	gpuFields
)

const mebi = 1 << 20

// gpuMetrics of the DCGM exporter (its default-counters.csv; memory in MiB), of
// Triton (nv_gpu_…) and of NVIDIA's NIM servers (gpu_…), with what makes the unit
// ours.
var gpuMetrics = map[string]struct {
	field gpuField
	scale float64
}{
	"DCGM_FI_DEV_GPU_UTIL":          {gpuUtil, 0.01},
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE": {gpuEngine, 1},
	"DCGM_FI_DEV_FB_USED":           {gpuUsed, 1},
	"DCGM_FI_DEV_FB_FREE":           {gpuFree, 1},
	"DCGM_FI_DEV_FB_RESERVED":       {gpuReserved, 1},
	"DCGM_FI_DEV_FB_TOTAL":          {gpuTotal, 1},
	"DCGM_FI_DEV_POWER_USAGE":       {gpuWatts, 1},
	"DCGM_FI_DEV_GPU_TEMP":          {gpuCelsius, 1},

	"nv_gpu_utilization":        {gpuUtil, 1},
	"nv_gpu_memory_used_bytes":  {gpuUsed, 1.0 / mebi},
	"nv_gpu_memory_total_bytes": {gpuTotal, 1.0 / mebi},
	"nv_gpu_power_usage":        {gpuWatts, 1},

	"gpu_utilization":        {gpuUtil, 1},
	"gpu_memory_used_bytes":  {gpuUsed, 1.0 / mebi},
	"gpu_memory_total_bytes": {gpuTotal, 1.0 / mebi},
	"gpu_power_usage_watts":  {gpuWatts, 1},
}

// gpuBounds are what a number can be. DCGM writes numbers near 2^31, 2^47 or 2^63
// for what a GPU does not report, and some NIM servers write milliwatts as watts:
// neither is a number to show.
var gpuBounds = [gpuFields][2]float64{
	gpuUtil: {0, 1}, gpuEngine: {0, 1}, gpuUsed: {0, 1e8}, gpuFree: {0, 1e8}, gpuReserved: {0, 1e8}, gpuTotal: {1, 1e8},
	gpuWatts: {0, 5000}, gpuCelsius: {-50, 200},
}

// mostGPUs of one page.
const mostGPUs = 4096

// gpuReading is a GPU of a page with what was read of it so far.
type gpuReading struct {
	GPU
	values [gpuFields]*float64
}

// ReadGPUs finds the GPUs of a page of Prometheus text, by index; empty when it
// has none.
func ReadGPUs(page []byte) []GPU {
	var all []*gpuReading
	byID := map[string]*gpuReading{}
	for line := range bytes.Lines(page) {
		name, labels, value, ok := splitSample(strings.TrimSpace(string(line)))
		if !ok {
			continue
		}
		metric, ok := gpuMetrics[name]
		if !ok {
			continue
		}
		g := gpuOf(labels)
		id := g.Host + "\x00" + cmp.Or(g.UUID, strconv.Itoa(g.Index)) + "\x00" + g.Part
		r := byID[id]
		if r == nil {
			if len(all) == mostGPUs {
				continue
			}
			r = &gpuReading{GPU: g}
			byID[id] = r
			all = append(all, r)
		}
		if v := value * metric.scale; v >= gpuBounds[metric.field][0] && v <= gpuBounds[metric.field][1] {
			r.values[metric.field] = &v
		}
	}
	gpus := make([]GPU, len(all))
	for i, r := range all {
		gpus[i] = r.read()
	}
	slices.SortStableFunc(gpus, func(a, b GPU) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Part, b.Part))
	})
	return gpus
}

// read makes the GPU of its values. Its memory is what is used, free and reserved
// where no metric says the sum.
func (r *gpuReading) read() GPU {
	g, v := r.GPU, r.values
	g.Util, g.UsedMB, g.TotalMB, g.Watts, g.Celsius = cmp.Or(v[gpuUtil], v[gpuEngine]), v[gpuUsed], v[gpuTotal], v[gpuWatts], v[gpuCelsius]
	if g.TotalMB == nil && v[gpuUsed] != nil && v[gpuFree] != nil {
		sum := *v[gpuUsed] + *v[gpuFree]
		if v[gpuReserved] != nil {
			sum += *v[gpuReserved]
		}
		g.TotalMB = &sum
	}
	return g
}

// gpuOf the labels of a metric.
func gpuOf(labels string) GPU {
	g := GPU{Index: -1}
	for len(labels) > 0 {
		var key, value string
		key, value, labels = nextLabel(labels)
		switch key {
		case "gpu", "device_id", "gpu_id":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < mostGPUs {
				g.Index = n
			}
		case "UUID", "uuid", "gpu_uuid":
			g.UUID = value
		case "modelName":
			g.Name = value
		case "Hostname", "hostname":
			g.Host = value
		case "GPU_I_ID":
			g.Part = value
		}
	}
	return g
}

// nextLabel takes `key="value"` and the comma after it off; an empty rest ends a
// text that is none.
func nextLabel(labels string) (key, value, rest string) {
	key, rest, ok := strings.Cut(labels, "=")
	if key = strings.TrimSpace(key); !ok || !strings.HasPrefix(strings.TrimSpace(rest), `"`) {
		return "", "", ""
	}
	rest = strings.TrimSpace(rest)[1:]
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			return key, b.String(), strings.TrimLeft(rest[i+1:], ", \t")
		case c == '\\' && i+1 < len(rest):
			i++
			b.WriteByte(unescaped(rest[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", "", ""
}

// unescaped is what stands for a character after a backslash.
func unescaped(c byte) byte {
	if c == 'n' {
		return '\n'
	}
	return c
}

// GPUs that the endpoint's own metrics told of at the last scrape.
func (c *Client) GPUs() []GPU {
	c.scrapes.Lock()
	defer c.scrapes.Unlock()
	return c.gpus
}
