package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFlagActs holds each flag to what it makes of a job: the plan with it and without, an error of its own, or a script of
// TestScripts that runs programs with it. A new flag has none, and fails.
//
// Promise: [G10] every flag of the command lines acts
// Also: TestEveryFlagActs (fleet/train)
func TestEveryFlagActs(t *testing.T) {
	t.Parallel()
	const counts = "--server_num=1 --worker_num=2"
	plans := map[string]struct{ without, with, want string }{ // what is planned with it
		"server_num":     {"--worker_num=2", counts, "1 servers, 2 workers, here [server 0 worker 0 worker 1]"},
		"worker_num":     {counts, "--server_num=1 --worker_num=3", "1 servers, 3 workers, here [server 0 worker 0 worker 1 worker 2]"},
		"trainer_num":    {counts, "--server_num=1 --trainer_num=3", "1 servers, 3 workers, here [server 0 worker 0 worker 1 worker 2]"},
		"nproc_per_node": {"--ips=10.0.0.1,10.0.0.2", "--ips=10.0.0.1,10.0.0.2 --nproc_per_node=2", "0 servers, 4 workers, here [worker 0 worker 1]"},
		"servers":        {counts, "--servers=10.0.0.1:1,10.0.0.1:2 --worker_num=2", "2 servers, 2 workers, here [server 0 server 1 worker 0 worker 1]"},
		"workers":        {counts, "--server_num=1 --workers=10.0.0.1,10.0.0.1,10.0.0.1", "1 servers, 3 workers, here [server 0 worker 0 worker 1 worker 2]"},
		"trainers":       {counts, "--server_num=1 --trainers=10.0.0.1", "1 servers, 1 workers, here [server 0 worker 0]"},
		"ips":            {"--nproc_per_node=1", "--nproc_per_node=1 --ips=10.0.0.2,10.0.0.1", "0 servers, 2 workers, here [worker 1]"},
		"run_mode":       {counts, counts + " --run_mode=collective", "--run_mode=collective, but the command line names servers"},
	}
	for _, name := range deviceFlags {
		plans[name] = struct{ without, with, want string }{"--nproc_per_node=1", "--" + name + "=0,1,2", "0 servers, 3 workers, here [worker 0 worker 1 worker 2]"}
	}
	scripts := map[string]string{"log_dir": "run.txtar", "quiet": "run.txtar", "v": "run.txtar", "max_restart": "restart.txtar", "restart_servers": "restart.txtar",
		"restart_workers": "restart.txtar", "grace": "signals.txtar", "ui": "ui.txtar",
		"timeout": "doctor.txtar", "checkpoint": "doctor.txtar", "journal": "doctor.txtar", "json": "doctor.txtar"}
	d, err := parseDoctor([]string{"p"}) // which has all flags of a job, and its own
	if err != nil {
		t.Fatal(err)
	}
	o := d.options
	o.flags.VisitAll(func(f *flag.Flag) {
		c, planned := plans[f.Name]
		delete(plans, f.Name)
		switch script := scripts[f.Name]; {
		case o.refused[f.Name]:
			if got := outcomeOf(t, "--"+f.Name+"=1"); got != `invalid value "1" for flag -`+f.Name+": "+f.Usage {
				t.Errorf("--%s is refused with %q", f.Name, got)
			}
		case planned:
			if a, b := outcomeOf(t, c.without), outcomeOf(t, c.with); a == b || !strings.Contains(b, c.want) {
				t.Errorf("--%s: %q without, %q with, want %q", f.Name, a, b, c.want)
			}
		case script == "":
			t.Errorf("nothing shows what --%s does", f.Name)
		default:
			text, err := os.ReadFile(filepath.Join("testdata", "script", script))
			if err != nil || !strings.Contains(string(text), "--"+f.Name) {
				t.Errorf("%s has no --%s: %v", script, f.Name, err)
			}
		}
	})
	for name := range plans {
		t.Errorf("there is no --%s", name)
	}
}

// outcomeOf is what becomes of a command line, in words.
func outcomeOf(t *testing.T, args string) string {
	t.Helper()
	o, err := parseArgs(strings.Fields(args + " program"))
	if err != nil {
		return err.Error()
	}
	j, err := plan(o, nodeA)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d servers, %d workers, here %v", len(j.servers), len(j.workers), j.here)
}
