package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/internal/ui"
)

// TestPanel: a role starts until it answers at its port, is silent when it stops to, and ends as its process does; its log's warnings are
// shown, of which a full disk is a finding.
func TestPanel(t *testing.T) {
	t.Parallel()
	at := map[role]string{{server, 0}: porttest.Free(t, 1)[0], {worker, 1}: "at worker 1"}
	p := &panel{Watch: ui.Watch{Ask: asker("token")}, logDir: t.TempDir(), began: time.Now(),
		alone: restarts{workers: 1}, metrics: func(r role) string { return at[r] }}
	s0, w0, w1 := role{server, 0}, role{worker, 0}, role{worker, 1}
	l, err := observe.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	at[w0] = l.Addr().String()
	served := make(chan error)
	go func() {
		served <- observe.Serve(l, func(r *observe.Request) observe.Answer {
			if r.Path != "/status" || !r.Bears("token") {
				return observe.Text(401, "")
			}
			return observe.Answer{Status: 200, Body: []byte(`{"Roles":[{"Kind":"worker","Index":0,"Runs":true,"Stats":{"Counts":{"Steps":7}}}]}`)}
		})
	}()
	for _, r := range []role{w1, s0, w0} {
		p.started(r, "attempt 2 of 3")
	}
	full := os.WriteFile("/dev/full", []byte("x"), 0o600) // as the system says it
	log := fmt.Sprintf("2026/01/01 00:00:00 INFO fine\n2026/01/01 00:00:00 ERROR \"checkpoint failed\" error=%q\n", full)
	if err := os.WriteFile(filepath.Join(p.logDir, "serverlog.0"), []byte(log+"half a WARN"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.ended(exit{role: w1, code: 137, how: "killed"})
	states := func() string {
		j := p.job(t.Context())
		var all []string
		for _, r := range j.Roles {
			all = append(all, r.String()+" "+string(r.State))
		}
		return strings.Join(all, ", ")
	}
	if got := states(); got != "server 0 starts, worker 0 runs, worker 1 failed" {
		t.Error(got)
	}
	j := p.job(t.Context())
	if s := j.Roles[1].Stats; s == nil || s.Counts.Steps != 7 || j.Attempt != "attempt 2 of 3" || len(j.Warnings) != 1 || !j.Warnings[0].Bad {
		t.Errorf("%+v", j)
	}
	if found := ui.Findings(nil, &j); full != nil && (len(found) != 2 || !strings.Contains(found[1].What, "server 0 can't write: a disk is full.")) {
		t.Errorf("found %+v", found)
	}
	l.Close()
	<-served
	if got := states(); got != "server 0 starts, worker 0 silent, worker 1 failed" {
		t.Error(got)
	}
	if j := p.job(t.Context()); j.Roles[1].Stats == nil {
		t.Error("what was known of it is forgotten")
	}
	p.rests(w1, time.Hour)
	if r := p.job(t.Context()).Roles[2]; !r.Alone || time.Until(r.Again) < time.Minute || r.Metrics != "at worker 1" || r.Log != filepath.Join(p.logDir, "workerlog.1") {
		t.Errorf("%+v", r)
	}
	p.started(w1, "")
	p.again(w1)
	if r := p.job(t.Context()).Roles[2]; !r.Again.IsZero() || len(r.Restarts) != 1 || p.job(t.Context()).Roles[0].Alone {
		t.Errorf("%+v", r)
	}
	p.ended(exit{role: w1, code: 137, how: "killed"})
	if r := p.job(t.Context()).Roles[2]; len(r.Restarts) != 1 {
		t.Errorf("its restarts are forgotten: %+v", r)
	}
	p.started(w0, "")
	if got := states(); got != "server 0 starts, worker 0 starts, worker 1 failed" {
		t.Error(got)
	}
}

// TestWarningsThatRepeat: lines that differ in numbers, times and names of files alone are one, the last, with how many there were and when
// it was written; other words, roles and processes in them are others.
func TestWarningsThatRepeat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(r role, lines string) {
		if err := os.WriteFile(logPath(dir, r), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(role{worker, 0}, `2026/11/23 23:27:50 WARN a checkpoint failed epoch=18 error="server 1: write /a/.part-28.33S2.tmp: full"
2026/11/23 23:27:51 WARN a checkpoint failed epoch=19 error="server 0: write /a/.part-29.7KHW.tmp: full"
2026/11/23 23:27:52 WARN a checkpoint failed epoch=20 error="server 1: write /a/.part-30.NLU4.tmp: full"
{"time":"2026-11-23T23:27:53.5+02:00","level":"WARN","msg":"something else"}
WARN of no time
`)
	write(role{worker, 1}, "---- fleetrun: started again alone, 2026-11-23 23:27:54\n---- fleetrun: started again alone, 2026-11-23 23:27:55\n")
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.Local)
	var tails logTails
	show := func() (said []string) {
		for _, w := range tails.read(dir, []role{{worker, 0}, {worker, 1}}, now) {
			said = append(said, fmt.Sprintf("%s %d× %s %s", w.Role, w.Count, w.At.Format(time.TimeOnly), w.Text[max(0, len(w.Text)-40):]))
		}
		return said
	}
	want := []string{
		`worker 0 1× 23:27:51 ver 0: write /a/.part-29.7KHW.tmp: full"`,
		`worker 0 2× 23:27:52 ver 1: write /a/.part-30.NLU4.tmp: full"`,
		`worker 0 1× 23:27:53 ","level":"WARN","msg":"something else"}`,
		`worker 0 1× 00:00:00 WARN of no time`,
		`worker 1 2× 23:27:55 started again alone, 2026-11-23 23:27:55`,
	}
	for range 2 { // a second look finds nothing new
		if got := show(); !slices.Equal(got, want) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	}
}

// TestMetricsAddress: the page names the address at which this machine sees what a role counts.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	j := &job{here: []role{{server, 0}, {worker, 0}}}
	for env, want := range map[string]string{"": "", ":0": "", ":9100": "127.0.0.1:9101", "0.0.0.0:9100": "127.0.0.1:9101", "[::1]:9100": "[::1]:9101", "10.0.0.1:9100": "10.0.0.1:9101"} {
		if got := j.metricsAt(env, role{worker, 0}); got != want {
			t.Errorf("FLEET_METRICS=%s: %q, want %q", env, got, want)
		}
	}
}
