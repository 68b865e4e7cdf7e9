package main

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseArgs(t *testing.T) {
	o, err := parseArgs([]string{"--server_num=2", "-worker_num", "3", "--grace=1m", "--gpus", "0,1", "--xpus=2", "--ips=127.0.0.1, localhost",
		"./train", "--worker_num=9", "-x"})
	if err != nil {
		t.Fatal(err)
	}
	if o.serverNum.n != 2 || o.workerNum.n != 3 || o.perNode.set || o.grace != time.Minute || o.logDir != "log" {
		t.Errorf("options = %+v", o)
	}
	if o.program != "./train" || !slices.Equal(o.args, []string{"--worker_num=9", "-x"}) {
		t.Errorf("program %q with %q: its flags are its own", o.program, o.args)
	}
	if got := o.ignoredDevices(); !slices.Equal(got, []string{"--gpus=0,1", "--xpus=2"}) {
		t.Errorf("ignored devices %q", got)
	}
}

func TestParseArgsErrors(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "which program?"},
		{"--server_num=1 --worker_num=1", "which program?"},
		{"--server_num=0 p", "between 1 and 1024"},
		{"--worker_num=-1 p", "between 1 and 1024"},
		{"--worker_num=1025 p", "between 1 and 1024"},
		{"--nproc_per_node=two p", "not a whole number"},
		{"--server_num", "needs an argument"},
		{"--grace=10 p", "grace"},
		{"--grace=-1s p", "--grace=-1s: a grace period is zero or longer"},
		{"--log_dir= p", "--log_dir is empty"},
		{"--ips=10.0.0.1,10.0.0.2 --server_num=1 p", "--ips=10.0.0.1,10.0.0.2 names machines of a collective job"},
		{"--http_port=80 p", "no rendezvous over HTTP"},
		{"--heter_workers=a p", "no heterogeneous workers"},
		{"--heter_worker_num=1 p", "no heterogeneous workers"},
		{"--heter_devices=gpu p", "no heterogeneous workers"},
		{"--run_mode=ps p", "not defined: -run_mode"},
	}
	for _, tt := range tests {
		_, err := parseArgs(strings.Fields(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parseArgs(%s) = %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	o, err := parseArgs([]string{"--help"})
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	usage := o.usage()
	o.flags.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(usage, "  -"+f.Name+" ") {
			t.Errorf("usage does not tell of --%s", f.Name)
		}
	})
}
