package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/httpget"
	"github.com/gofleet/gofleet/internal/ui"
)

// TestPanel: a role starts until it answers at its socket, is silent when it stops to, and ends as its process does; its log's warnings are
// shown, of which a full disk is a finding.
func TestPanel(t *testing.T) {
	t.Parallel()
	p := &panel{dir: t.TempDir(), logDir: t.TempDir(), began: time.Now(), roles: map[role]*ui.Role{}}
	s0, w0, w1 := role{server, 0}, role{worker, 0}, role{worker, 1}
	for _, r := range []role{w1, s0, w0} {
		p.started(r, "attempt 2 of 3")
	}
	l, err := net.Listen("unix", p.socket(w0))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() {
		served <- httpget.Serve(l, func(r *httpget.Request) httpget.Answer {
			return httpget.Answer{Status: 200, Stream: func(w io.Writer) error { _, err := io.WriteString(w, `[{"Counts":{"Steps":7}}]`); return err }}
		})
	}()
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
	if found := ui.Findings(nil, &j); full != nil && (len(found) != 2 || !strings.Contains(found[1].What, "server 0 can't write: its disk is full.")) {
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
	p.started(w0, "")
	if got := states(); got != "server 0 starts, worker 0 starts, worker 1 failed" {
		t.Error(got)
	}
}
