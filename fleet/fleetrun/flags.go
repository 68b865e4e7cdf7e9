package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// options is the command line, checked one flag at a time. What flags mean together is [plan]'s business.
type options struct {
	serverNum, workerNum, perNode count
	servers, workers              string // lists as typed
	ips                           string
	devices                       [3]string // in the order of deviceFlags
	logDir                        string
	grace                         time.Duration
	program                       string
	args                          []string // the program's

	flags   *flag.FlagSet
	refused map[string]bool
}

var deviceFlags = [3]string{"gpus", "selected_gpus", "xpus"}

// refusals are flags of other launchers that ask for what gofleet hasn't, each with the reason.
var refusals = []struct{ name, reason string }{
	{"http_port", "barriers go through server 0, no rendezvous over HTTP needs a port: drop the flag"},
	{"heter_workers", noHeter},
	{"heter_worker_num", noHeter},
	{"heter_devices", noHeter},
}

const noHeter = "gofleet has servers and workers, no heterogeneous workers: give their share to --worker_num"

// parseArgs reads a command line. It returns the options even with [flag.ErrHelp], for their usage.
func parseArgs(args []string) (*options, error) {
	o := &options{logDir: "log", grace: 10 * time.Second}
	o.define()
	if err := o.flags.Parse(args); err != nil {
		return o, err
	}
	if o.flags.NArg() == 0 {
		return o, errors.New("which program? Name a package (./examples/wide_and_deep) or an executable after the flags")
	}
	o.program, o.args = o.flags.Arg(0), o.flags.Args()[1:]
	return o, o.check()
}

func (o *options) define() {
	f := flag.NewFlagSet("fleetrun", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Var(&o.serverNum, "server_num", "start `N` servers on this machine")
	f.Var(&o.workerNum, "worker_num", "start `N` workers on this machine")
	f.Var(&o.perNode, "nproc_per_node", "`N` workers on one machine; the same as --worker_num when all run here")
	f.StringVar(&o.servers, "servers", "", "servers of the whole job, a `list` of ip:port,…")
	f.StringVar(&o.workers, "workers", "", "workers of the whole job, a `list` of ip[:port],…")
	f.StringVar(&o.ips, "ips", "", "machines of a job without servers, a `list` of ip,…")
	f.StringVar(&o.logDir, "log_dir", o.logDir, "`directory` of the logs")
	f.DurationVar(&o.grace, "grace", o.grace, "how long roles may take to end before they are killed")
	for i, name := range deviceFlags {
		f.StringVar(&o.devices[i], name, "", "ignored `list`: gofleet computes on CPUs")
	}
	o.refused = map[string]bool{}
	for _, r := range refusals {
		f.Func(r.name, "refused: "+r.reason, func(string) error { return errors.New(r.reason) })
		o.refused[r.name] = true
	}
	o.flags = f
}

func (o *options) check() error {
	if o.grace < 0 {
		return fmt.Errorf("--grace=%v: a grace period is zero or longer", o.grace)
	}
	if o.logDir == "" {
		return errors.New("--log_dir is empty: name a directory, or drop the flag for \"log\"")
	}
	for ip := range strings.SplitSeq(o.ips, ",") {
		if o.ips != "" && !loopback(strings.TrimSpace(ip)) && (o.servers != "" || o.serverNum.set) {
			return fmt.Errorf("--ips=%s names machines of a collective job: name those of a parameter-server job "+
				"with --servers and --workers", o.ips)
		}
	}
	return nil
}

// ignoredDevices are the device flags in use, as typed.
func (o *options) ignoredDevices() []string {
	var given []string
	for i, name := range deviceFlags {
		if o.devices[i] != "" {
			given = append(given, "--"+name+"="+o.devices[i])
		}
	}
	return given
}

func (o *options) usage() string {
	var b strings.Builder
	b.WriteString("Usage: fleetrun --server_num=N --worker_num=N [flags] program [args]\n" +
		"       fleetrun --nproc_per_node=N [flags] program [args]\n\n" +
		"Starts servers and workers of a parameter-server job, or the workers of a collective job, which has no servers. The program\n" +
		"is a Go package or an executable.\n\n")
	o.flags.SetOutput(&b)
	o.flags.PrintDefaults()
	b.WriteString("\nThe whole manual: go doc github.com/gofleet/gofleet/fleet/fleetrun\n")
	return b.String()
}

// count is a number of processes, which may be unset.
type count struct {
	n   int
	set bool
}

func (c *count) String() string {
	if c == nil || !c.set {
		return "None"
	}
	return strconv.Itoa(c.n)
}

func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("not a whole number")
	}
	if n < 1 || n > maxRoles {
		return fmt.Errorf("between 1 and %d processes can be started", maxRoles)
	}
	c.n, c.set = n, true
	return nil
}

// maxRoles bounds the processes of a kind: beyond it a typing error is likelier than a machine.
const maxRoles = 1024
