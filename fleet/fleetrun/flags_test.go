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
	t.Parallel()
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

// TestOtherNames reads the newer names of flags, and what may be said twice.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	o, err := parseArgs([]string{"--run_mode=ps", "--server_num=1", "--trainer_num=3", "--devices=0,1", "p"})
	if err != nil || o.workerNum.n != 3 || o.serverNum.n != 1 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseArgs([]string{"--run_mode=collective", "--trainers=127.0.0.1:6170,127.0.0.1:6171", "p"}); err != nil || !o.collective() {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestParseArgsErrors(t *testing.T) {
	t.Parallel()
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
		{"--log_dir=s3://bucket/logs p", `--log_dir: "s3://bucket/logs" is not a path on this machine`},
		{"--ips=10.0.0.1,10.0.0.2 --server_num=1 p", "--ips=10.0.0.1,10.0.0.2 names machines of a collective job"},
		{"--http_port=80 p", "no rendezvous over HTTP"},
		{"--heter_workers=a p", "no heterogeneous workers"},
		{"--heter_worker_num=1 p", "no heterogeneous workers"},
		{"--heter_devices=gpu p", "no heterogeneous workers"},
		{"--run_mode=ps-heter --server_num=1 p", "--run_mode=ps-heter: want ps or collective"},
		{"--run_mode=ps --nproc_per_node=2 p", "names no servers: add --server_num or --servers"},
		{"--run_mode=collective --server_num=1 --worker_num=1 p", "names servers"},
		{"--master=10.0.0.1:49178 p", "type the same on each"},
		{"--nnodes=2 p", "type the same on each"},
		{"--np=3 p", "the roles it was started with"},
		{"--max_restart=-3 --server_num=1 --worker_num=1 p", "--max_restart=-3: it counts from 0"},
		{"--backend=gloo p", "gofleet's own transport"},
		{"--job_id=x p", "a --log_dir of its own"},
		{"--worker_num=2 --trainer_num=3 p", "--worker_num and --trainer_num are one flag: leave one out"},
		{"--trainers=a --workers=b p", "--workers and --trainers are one flag: leave one out"},
		{"--nonsense=1 p", "not defined: -nonsense; -h lists all flags"},
		{"--workers_num=1 p", "not defined: -workers_num: did you mean -worker_num? -h lists all flags"},
		{"--num_servers=1 p", "did you mean -server_num?"},
		{"--http_prot=1 p", "not defined: -http_prot; -h lists"},
		{"-m train", "name it after the flags"},
		{"--start_port=36000 p", "free ports"},
		{"--node_ip=10.0.0.1 p", "POD_IP"},
	}
	for _, tt := range tests {
		_, err := parseArgs(strings.Fields(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parseArgs(%s) = %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	o, err := parseArgs([]string{"--help"})
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	usage := o.usage()
	o.flags.VisitAll(func(f *flag.Flag) {
		if slices.Contains(strings.Fields(usage), "-"+f.Name) == o.refused[f.Name] {
			t.Errorf("usage tells of --%s: %v; it should of what is not refused", f.Name, !o.refused[f.Name])
		}
	})
}
