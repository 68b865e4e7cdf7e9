package main

import (
	"fmt"
	"strings"
	"testing"
)

var nodeA = machine{hostname: "a", addresses: []string{"10.0.0.1"}}

func planOf(t *testing.T, args string, m machine) (*job, error) {
	t.Helper()
	o, err := parseArgs(strings.Fields(args + " program"))
	if err != nil {
		t.Fatal(err)
	}
	return plan(o, m)
}

func TestPlanLists(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args  string
		m     machine
		here  string
		whole bool
	}{
		{"--servers=10.0.0.1:1,10.0.0.2:1 --workers=10.0.0.1,10.0.0.2", nodeA, "[server 0 worker 0]", false},
		{"--servers=10.0.0.2:1,10.0.0.1:1 --workers=10.0.0.2,10.0.0.1", nodeA, "[server 1 worker 1]", false},
		{"--servers=10.0.0.2:1 --workers=10.0.0.1,10.0.0.1", nodeA, "[worker 0 worker 1]", true},
		{"--servers=10.0.0.1:1 --workers=10.0.0.2", nodeA, "[server 0]", false},
		{"--servers=127.0.0.1:1,127.0.0.1:2 --workers=127.0.0.1", nodeA, "[server 0 server 1 worker 0]", true},
		{"--servers=127.0.0.1:1 --workers=127.0.0.1,127.0.0.2", machine{podIP: "127.0.0.2"}, "[worker 1]", false},
		{"--servers=127.0.0.1:1 --workers=127.0.0.1,127.0.0.2 --nproc_per_node=1", machine{podIP: "127.0.0.2"}, "[worker 1]", false},
		{"--servers=10.0.0.1:1 --server_num=1 --worker_num=2", nodeA, "[server 0 worker 0 worker 1]", true},
		{"--workers=10.0.0.1:5,10.0.0.1:6 --server_num=2", nodeA, "[server 0 server 1 worker 0 worker 1]", true},
	}
	for _, tt := range tests {
		j, err := planOf(t, tt.args, tt.m)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := fmt.Sprint(j.here); got != tt.here || j.whole() != tt.whole {
			t.Errorf("%s: here %s, whole %v, want %s, %v", tt.args, got, j.whole(), tt.here, tt.whole)
		}
	}
}

func TestPlanCounts(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--server_num=2 --worker_num=3", "--server_num=2 --nproc_per_node=3",
		"--server_num=2 --nproc_per_node=3 --worker_num=3"} {
		j, err := planOf(t, args, machine{podIP: "10.9.9.9"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(j.here); got != "[server 0 server 1 worker 0 worker 1 worker 2]" || !j.whole() {
			t.Errorf("%s: here %s, whole %v", args, got, j.whole())
		}
		if err := distinct(append(j.servers, j.workers...)); err != nil || len(j.servers) != 2 || len(j.workers) != 3 {
			t.Errorf("%s: endpoints %v and %v: %v", args, j.servers, j.workers, err)
		}
	}
}

// TestPlanCollective: a command line without servers.
func TestPlanCollective(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args, workers, here string
	}{
		{"--ips=10.0.0.1,10.0.0.2 --nproc_per_node=2", "10.0.0.1:6170,10.0.0.1:6171,10.0.0.2:6170,10.0.0.2:6171", "[worker 0 worker 1]"},
		{"--ips=10.0.0.2,10.0.0.1", "10.0.0.2:6170,10.0.0.1:6170", "[worker 1]"},
		{"--ips=127.0.0.1 --gpus=0,1,2", "127.0.0.1:6170,127.0.0.1:6171,127.0.0.1:6172", "[worker 0 worker 1 worker 2]"},
		{"--workers=10.0.0.2,10.0.0.1:7000", "10.0.0.2:6170,10.0.0.1:7000", "[worker 1]"},
		{"--nproc_per_node=2", "", "[worker 0 worker 1]"},
		{"--worker_num=3 --gpus=0,1", "", "[worker 0 worker 1 worker 2]"},
		{"--gpus=0,1,2,3", "", "[worker 0 worker 1 worker 2 worker 3]"},
	}
	for _, tt := range tests {
		j, err := planOf(t, tt.args, nodeA)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := fmt.Sprint(j.here); got != tt.here || !j.collective() || tt.workers != "" && join(j.workers) != tt.workers {
			t.Errorf("%s: workers %s, here %s, want %s, %s", tt.args, join(j.workers), got, tt.workers, tt.here)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"", "no roles named: --server_num=N --worker_num=N start servers and workers here, --nproc_per_node=N workers without servers"},
		{"--server_num=1", "no workers: say how many run on this machine with --worker_num, or name them with --workers"},
		{"--workers=10.0.0.2,10.0.0.3", "none of --workers=10.0.0.2,10.0.0.3 is this machine"},
		{"--ips=10.0.0.1 --worker_num=2", "--ips=10.0.0.1 names machines, and --workers or --worker_num workers"},
		{"--ips=10.0.0.1:7 --nproc_per_node=2", `"10.0.0.1:7" has a port`},
		{"--ips=10.0.0.1,10.0.0.1", "10.0.0.1:6170 stands twice"},
		{"--server_num=1 --worker_num=2 --nproc_per_node=3", "--worker_num=2 and --nproc_per_node=3 say two things"},
		{"--server_num=3 --servers=127.0.0.1:1 --worker_num=1", "--server_num=3, but --servers=127.0.0.1:1 names 1"},
		{"--worker_num=3 --workers=127.0.0.1 --server_num=1", "--worker_num=3, but --workers=127.0.0.1 names 1"},
		{"--servers=127.0.0.1:1,127.0.0.1:1 --worker_num=1", "127.0.0.1:1 stands twice"},
		{"--servers=127.0.0.1:6170 --workers=127.0.0.1", "127.0.0.1:6170 stands twice"},
		{"--servers=127.0.0.1 --worker_num=1", "needs a port"},
		{"--server_num=1 --workers=nowhere:x", "a port is a number"},
		{"--servers=10.0.0.2:1 --workers=10.0.0.3", "none of --servers=10.0.0.2:1 and --workers=10.0.0.3 is this machine (10.0.0.1, a)"},
		{"--servers=10.0.0.2:1 --worker_num=1", "none of --servers=10.0.0.2:1 is this machine"},
		{"--servers=10.0.0.1:1,10.0.0.2:1 --worker_num=1", "names other machines, so the job needs both lists"},
		{"--server_num=1 --workers=10.0.0.1,10.0.0.2", "--workers=10.0.0.1,10.0.0.2 names other machines"},
		{"--servers=10.0.0.1:1 --workers=10.0.0.1,10.0.0.2 --nproc_per_node=2", "gives this machine 1"},
	}
	for _, tt := range tests {
		j, err := planOf(t, tt.args, nodeA)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("plan(%s) = %+v, %v, want %q", tt.args, j, err, tt.want)
		}
	}
}

func TestFreePorts(t *testing.T) {
	t.Parallel()
	taken, err := freePorts(200, nil)
	if err != nil {
		t.Fatal(err)
	}
	more, err := freePorts(200, taken)
	if err != nil {
		t.Fatal(err)
	}
	if err := distinct(append(taken, more...)); err != nil {
		t.Error(err)
	}
}
