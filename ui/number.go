package ui

import (
	"fmt"
	"strconv"
	"time"
)

// thousands writes 1234567 as 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a count in at most five columns: 999, 14.0k, 1.2M.
func short(n float64) string {
	switch {
	case n < 0:
		return "–"
	case n < 1000:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n < 99_950:
		return strconv.FormatFloat(n/1000, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatFloat(n/1000, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(n/1e6, 'f', 1, 64) + "M"
}

// age writes a duration coarsely, in at most four columns: 8s, 12m, 3h, 2d.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// took writes a measured duration in at most six columns: 8 ms, 1.2 s, 3m05s, 2h05m.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// clock writes a duration as hh:mm:ss.
func clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// wallClock writes a moment in the person's own time: sessions hold UTC.
func wallClock(t time.Time) string { return t.Local().Format("15:04:05") }

// reward writes a reward; absent is a dash, never 0.
func reward(r *float64) string {
	if r == nil {
		return "–"
	}
	return strconv.FormatFloat(*r, 'g', 4, 64)
}

// percent of a share, N/A when not reported.
func percent(p *float64) string {
	if p == nil {
		return "N/A"
	}
	return strconv.FormatFloat(*p*100, 'f', 0, 64) + "%"
}

// amount of a gauge, N/A when not reported.
func amount(v *float64) string {
	if v == nil {
		return "N/A"
	}
	return short(*v)
}
