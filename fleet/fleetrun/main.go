package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"syscall"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mistyped"
)

func main() {
	// Roles die with the thread that started them (see ownGroup on Linux), so that this must be a thread that stays.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:], newConsole(os.Stdout, os.Stderr)))
}

// command is a command without a job.
type command struct {
	usage string
	// run returns what is wrong with the command line, [failed] for what went wrong then, or a [status].
	run func(args []string, con *console) error
}

// failed is an error of a command whose command line is right.
type failed struct{ error }

// status is an exit code that needs no words.
type status int

func (s status) Error() string { return fmt.Sprint("exit code ", int(s)) }

// commands are all commands, by name.
var commands = map[string]command{
	"new":     {newUsage, runNew},
	"certs":   {certsUsage, runCerts},
	"doctor":  {doctorUsage, runDoctor},
	"verify":  {verifyUsage, runVerify},
	"inspect": {inspectUsage, runInspect},
	"chaos":   {chaosUsage, runChaos},
	"compare": {compareUsage, runCompare},
	"pin":     {pinUsage, eachDir("pin", checkpoint.Pin, "%s is pinned\n")},
	"unpin":   {pinUsage, eachDir("unpin", checkpoint.Unpin, "%s is not pinned\n")},
	"watch":   {watchUsage, runWatch},
}

// perform performs the command of a name, and returns the exit code.
func perform(name string, args []string, con *console) int {
	c := commands[name]
	err := c.run(args, con)
	if code, is := errors.AsType[status](err); is {
		return int(code)
	}
	switch _, ran := errors.AsType[failed](err); {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(con.out, c.usage)
		return 0
	case ran:
		con.fail(fmt.Errorf("%s: %w", name, err))
		return exitFailure
	}
	con.fail(fmt.Errorf("%s: %w", name, err))
	return exitUsage
}

// run is fleetrun without its process: it returns the exit code.
func run(args []string, con *console) int {
	if len(args) > 0 && commands[args[0]].run != nil {
		return perform(args[0], args[1:], con)
	}
	if len(args) == 3 && args[0] == takeBuilt {
		if err := take(args[1], args[2]); err != nil {
			con.fail(err)
			return exitFailure
		}
		return 0
	}
	if slices.Equal(args, []string{"help"}) { // before the search for a program of that name
		args = []string{"-h"}
	}
	opts, err := parseArgs(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(con.out, opts.usage())
		return 0
	}
	if err == nil {
		err = nearCommand(args[0])
	}
	if err != nil {
		con.fail(err)
		return exitUsage
	}
	code, err := launch(opts, con)
	if err != nil {
		con.fail(err)
	}
	return code
}

// nearCommand refuses a program whose name is similar to a command's, if no flag before it names roles.
func nearCommand(name string) error {
	meant := mistyped.Near(name, slices.Sorted(maps.Keys(commands)))
	if _, err := os.Stat(name); meant == "" || err == nil {
		return nil
	}
	return fmt.Errorf("unknown command %q (did you mean %q?); see -h", name, meant)
}

// Exit codes of fleetrun itself. The code of a failed role is passed on.
const (
	exitFailure = 1 // the job could not be started
	exitUsage   = 2 // the command line is invalid
)

// launch plans, builds, starts and watches a job, and returns its exit code. The error, if any, was not printed yet.
func launch(opts *options, con *console) (int, error) {
	con.quiet, con.verbose = opts.quiet, opts.verbose
	job, err := plan(opts, thisMachine())
	if err != nil {
		return exitUsage, err
	}
	signals, uncatch := catchSignals()
	defer uncatch()
	scratch, remove, err := makeScratch(os.TempDir())
	if err != nil {
		return exitFailure, fmt.Errorf("no directory for temporary files: %w", err)
	}
	defer remove()
	program, err := findProgram(opts.program, scratch, signals, con)
	if err != nil {
		return exitCodeOf(err), err
	}
	release, err := holdLogs(opts.logDir, job)
	if err != nil {
		return exitFailure, err
	}
	defer release()
	job.scratch, job.live, job.width, job.token = scratch, con.live, con.width, job.ownToken(os.Getenv)
	job.shows = asked(os.Getenv(progressVar), con)
	job.otherwise = job.unprobed(os.Getenv(healthVar), con)
	if opts.verbose && os.Getenv(logVar) == "" {
		job.otherwise = append(job.otherwise, variable{logVar, "debug"})
	}
	showJob(con, opts, job)
	c := &crew{program: program, args: opts.args, job: job, logDir: opts.logDir, con: con}
	closeUI, err := c.openUI(opts.ui, opts.restarts)
	if err != nil {
		return exitUsage, err
	}
	defer closeUI()
	return c.run(signals, opts.grace, opts.restarts)
}

// interrupted is the end of a job by a signal to fleetrun.
type interrupted struct{ signal os.Signal }

func (e interrupted) Error() string { return fmt.Sprintf("ended by a signal (%v)", e.signal) }

// exitCode is the shell's convention: 130 for SIGINT, 143 for SIGTERM.
func (e interrupted) exitCode() int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitFailure
}

func exitCodeOf(err error) int {
	if e, ok := errors.AsType[interrupted](err); ok {
		return e.exitCode()
	}
	return exitFailure
}
