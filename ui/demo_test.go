package ui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

func fakeExport(context.Context, bool) (string, string, error) {
	return "/tmp/r-0412.jsonl", "812 transitions of 11 trajectories", nil
}

// TestMain also shows the fake run on a terminal, to be looked at:
// go test -c -o /tmp/demo ./ui && ROLLBENCH_UI_DEMO=1 /tmp/demo
func TestMain(m *testing.M) {
	time.Local = time.UTC // what the screen shows does not hang on where it is tested
	if os.Getenv("ROLLBENCH_UI_DEMO") == "" {
		os.Exit(m.Run())
	}
	f := fakeMeasured()
	switch os.Getenv("ROLLBENCH_UI_DEMO") {
	case "stall":
		f.status.Stall = fakeStall()
	case "plain":
		f = fakeWhole()
	}
	start := time.Now()
	opt := Options{Reader: f, Commands: f, Export: fakeExport, WhatIf: fakeWhatIf, Search: fakeSearch, Look: fakeLook, NoColor: os.Getenv("NO_COLOR") != "", Theme: os.Getenv("THEME"),
		Mouse: os.Getenv("ROLLBENCH_UI_MOUSE") != "", Clock: func() time.Time { return fakeNow().Add(time.Since(start)) }}
	switch os.Getenv("ROLLBENCH_UI_DEMO") {
	case "panic":
		opt.Reader = brokenReader{f}
	case "panic-update":
		opt.Clock = func() time.Time {
			if _, err := os.Stat(os.Getenv("ROLLBENCH_UI_PANIC")); err == nil {
				panic("broken on purpose")
			}
			return fakeNow().Add(time.Since(start))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, opt); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
