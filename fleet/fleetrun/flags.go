package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/mistyped"
)

// options is the command line, checked one flag at a time. [plan] checks the flags together.
type options struct {
	serverNum, workerNum, perNode count
	servers, workers              string // lists as typed
	ips                           string
	devices                       [len(deviceFlags)]string // by device flag
	perDevice                     bool                     // the first device flag gives the number of workers
	runMode                       string
	logDir                        string
	quiet, verbose                bool
	grace                         time.Duration
	restarts                      restarts
	ui                            string
	program                       string
	args                          []string // of the program

	flags   *flag.FlagSet
	aliases map[string]bool // other names of flags, and flags that only repeat others
	refused map[string]bool
}

var deviceFlags = [...]string{"gpus", "selected_gpus", "xpus", "npus", "devices"}

// refusals are flags of other launchers that have no counterpart here, each with the reason.
var refusals = []struct{ names, reason string }{
	{"http_port gloo_port with_gloo", "barriers go through server 0, no rendezvous over HTTP needs a port: drop the " +
		"flag"},
	{"heter_workers heter_worker_num heter_devices",
		"gofleet has servers and workers, no heterogeneous workers: give their share to --worker_num"},
	{"coordinators coordinator_num", "gofleet has servers and workers, no coordinators: drop the flag"},
	{"master rank nnodes",
		"ranks are not assigned automatically: name all roles with --servers and --workers, or the machines with " +
			"--ips, and type the same on each"},
	{"elastic_server elastic_pre_hook elastic_level elastic_timeout np scale force",
		"a job has the roles it was started with: drop the flag"},
	{"backend", "workers talk over gofleet's own transport: drop the flag"},
	{"job_id", "give each job a --log_dir of its own, and FLEET_CLUSTER a name that keeps jobs apart"},
	{"log_level", "a program sets the level of its own log: drop the flag"},
	{"m module", "a job runs a Go package or an executable: name it after the flags, as in fleetrun --server_num=2 " +
		"--worker_num=2 ./train"},
	{"start_port started_port", "roles on this machine get free ports; name others with --servers=ip:port,… and " +
		"--workers=ip:port,…"},
	{"host node_ip current_node_ip", "POD_IP in the environment says which address is this machine's"},
	{"cluster_node_ips worker_ips", "--ips names the machines of a job without servers, --servers and --workers its " +
		"roles"},
	{"cluster_topo_path rank_mapping_path enable_auto_mapping", "gofleet computes on CPUs and maps no ranks to " +
		"devices: drop the flag"},
}

// newOptions returns the options of an empty command line.
func newOptions() *options {
	o := &options{logDir: "log", grace: 10 * time.Second}
	o.define()
	return o
}

func (o *options) isRefused(name string) bool { return o.refused[name] }

// parseArgs parses a command line. It returns the options even with [flag.ErrHelp], for their usage.
func parseArgs(args []string) (*options, error) {
	o := newOptions()
	if err := mistyped.Parse(o.flags, args, o.isRefused); err != nil {
		return o, err
	}
	if o.flags.NArg() == 0 {
		return o, errors.New(
			"which program? Name a package (./examples/wide_and_deep) or an executable after the flags")
	}
	o.program, o.args = o.flags.Arg(0), o.flags.Args()[1:]
	return o, o.check()
}

func (o *options) define() {
	f := flag.NewFlagSet("fleetrun", flag.ContinueOnError)
	f.Var(&o.serverNum, "server_num", "start `N` servers on this machine")
	f.Var(&o.workerNum, "worker_num", "start `N` workers on this machine")
	f.Var(&o.perNode, "nproc_per_node", "`N` workers on one machine; the same as --worker_num when all run here")
	f.StringVar(&o.servers, "servers", "", "servers of the whole job, a `list` of ip:port,…")
	f.StringVar(&o.workers, "workers", "", "workers of the whole job, a `list` of ip[:port],…")
	f.StringVar(&o.ips, "ips", "", "machines of a job without servers, a `list` of ip,…")
	f.StringVar(&o.logDir, "log_dir", o.logDir, "`directory` of the logs")
	f.DurationVar(&o.grace, "grace", o.grace, "how long roles may take to end when asked to, before they are killed")
	f.BoolVar(&o.quiet, "quiet", false, "show only the first worker's output and failures")
	f.BoolVar(&o.verbose, "v", false, "show all flags, the environment of the first server and the first worker, and "+
		"what roles have counted (FLEET_LOG=debug)")
	f.IntVar(&o.restarts.all, "max_restart", 0, "when a role fails, end all roles and start them again, at most `N` "+
		"times")
	f.IntVar(&o.restarts.servers, "restart_servers", 0, "restart a failed server alone, at most `N` times, for "+
		"servers with a journal")
	f.IntVar(&o.restarts.workers, "restart_workers", 0, "restart a failed worker alone, at most `N` times; in sync "+
		"and ssp all workers go back to the last checkpoint")
	f.StringVar(&o.ui, "ui", "", "show the job on a page at `address`, such as :8900, with a token that is printed")
	for i, name := range deviceFlags {
		f.StringVar(&o.devices[i], name, "", "a `list` of devices, accepted for old command lines: gofleet uses "+
			"CPUs, and at most the length of the list")
	}
	f.StringVar(&o.runMode, "run_mode", "", "`ps` or collective, checked against the other flags")
	f.Var(&o.workerNum, "trainer_num", "another name for --worker_num `N`")
	f.StringVar(&o.workers, "trainers", "", "another name for --workers `list`")
	o.aliases = map[string]bool{"trainer_num": true, "trainers": true, "devices": true, "npus": true, "run_mode": true,
		"quiet": true, "v": true}
	o.refused = map[string]bool{}
	for _, r := range refusals {
		for name := range strings.FieldsSeq(r.names) {
			f.Func(name, r.reason, func(string) error { return errors.New(r.reason) })
			o.refused[name] = true
		}
	}
	o.flags = f
}

func (o *options) check() error {
	if o.grace < 0 {
		return fmt.Errorf("--grace=%v: a grace period is zero or longer", o.grace)
	}
	if o.quiet && o.verbose {
		return errors.New("--quiet and -v ask for less and for more: leave one out")
	}
	if o.logDir == "" {
		return errors.New("--log_dir is empty: name a directory, or drop the flag for \"log\"")
	}
	if err := files.CheckLocal(o.logDir); err != nil {
		return fmt.Errorf("--log_dir: %w", err)
	}
	for ip := range strings.SplitSeq(o.ips, ",") {
		if o.ips != "" && !loopback(strings.TrimSpace(ip)) && (o.servers != "" || o.serverNum.set) {
			return fmt.Errorf("--ips=%s names machines of a collective job: name those of a parameter-server job "+
				"with --servers and --workers", o.ips)
		}
	}
	return errors.Join(o.checkNames(), o.checkRunMode(), o.checkRestarts())
}

// checkNames refuses a flag under both of its names, since only the last would count.
func (o *options) checkNames() error {
	typed := map[string]bool{}
	o.flags.Visit(func(f *flag.Flag) { typed[f.Name] = true })
	for name, other := range map[string]string{"worker_num": "trainer_num", "workers": "trainers"} {
		if typed[name] && typed[other] {
			return fmt.Errorf("--%s and --%s are one flag: leave one out", name, other)
		}
	}
	return nil
}

// checkRestarts refuses invalid counts, and restarts that a collective job does not support.
func (o *options) checkRestarts() error {
	r := &o.restarts
	for _, f := range []struct {
		name string
		n    int
	}{{"max_restart", r.all}, {"restart_servers", r.servers}, {"restart_workers", r.workers}} {
		if f.n < 0 {
			return fmt.Errorf("--%s=%d: it counts from 0", f.name, f.n)
		}
	}
	if o.collective() && r.servers+r.workers > 0 {
		return errors.New("--restart_servers and --restart_workers are for jobs with servers: where workers add " +
			"their gradients up among themselves, nobody goes on for one that failed; --max_restart starts all again")
	}
	return nil
}

// checkRunMode compares --run_mode with the job of the other flags.
func (o *options) checkRunMode() error {
	switch {
	case o.runMode != "" && o.runMode != "ps" && o.runMode != "collective":
		return fmt.Errorf("--run_mode=%s: want ps or collective", o.runMode)
	case o.runMode == "ps" && o.collective():
		return errors.New("--run_mode=ps, but the command line names no servers: add --server_num or --servers")
	case o.runMode == "collective" && (o.serverNum.set || o.servers != ""):
		return errors.New("--run_mode=collective, but the command line names servers, which such a job has none of")
	}
	return nil
}

// ignoredDevices are the device flags on the command line.
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
		"       fleetrun --nproc_per_node=N [flags] program [args]\n" +
		"       fleetrun certs [--days N] DIR HOST...\n" +
		"       fleetrun doctor [--timeout 3s] [flags] [program]\n" +
		"       fleetrun new DIR --data=FILE --label=FIELD\n" +
		"       fleetrun verify DIR...\n" +
		"       fleetrun inspect [--json] DIR...\n" +
		"       fleetrun compare [--by COLUMN] DIR...\n" +
		"       fleetrun watch [--ui ADDRESS] HOST:PORT...\n" +
		"       fleetrun chaos [--runs N] [--metric COLUMN] [--within X] -- [flags] program [args]\n" +
		"       fleetrun pin|unpin DIR...\n\n" +
		"Starts the servers and workers of a parameter-server job, or the workers of a collective job, which\n" +
		"has no servers. The program is a Go package or an executable.\n\n" +
		"certs makes certificates for the machines of a cluster. doctor reports whether a role could run on\n" +
		"this machine, and what is missing. new writes a training program for a file of rows. verify checks\n" +
		"checkpoints and saved models, inspect shows what is in them, and pin keeps a checkpoint that a job\n" +
		"would remove. compare compares finished jobs. watch shows a job on a page that fleetrun has not\n" +
		"started. chaos kills roles of a job at random, and compares its metric with an undisturbed job's.\n\n")
	shown := flag.NewFlagSet("", flag.ContinueOnError)
	shown.SetOutput(&b)
	o.flags.VisitAll(func(f *flag.Flag) {
		if !o.refused[f.Name] {
			shown.Var(f.Value, f.Name, f.Usage)
			shown.Lookup(f.Name).DefValue = f.DefValue
		}
	})
	shown.PrintDefaults()
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

// maxRoles bounds the processes of a kind: a larger number is more likely a typing error than a machine.
const maxRoles = 1024
