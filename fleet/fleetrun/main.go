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

	"github.com/gofleet/gofleet/internal/mistyped"
)

func main() {
	// Roles die with the thread that started them (see ownGroup on Linux), so that thread must be one that stays.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:], newConsole(os.Stdout, os.Stderr)))
}

// commands need no job. They return the exit code.
var commands = map[string]func(args []string, con *console) int{
	"new":     runNew,
	"certs":   runCerts,
	"doctor":  runDoctor,
	"verify":  runVerify,
	"inspect": runInspect,
	"compare": runCompare,
	"pin":     runPin,
	"unpin":   runUnpin,
}

// run is the command without the process around it: it returns the exit code.
func run(args []string, con *console) int {
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](args[1:], con)
	}
	if slices.Equal(args, []string{"help"}) { // no program: nothing says who takes part
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

// nearCommand refuses a program's name, where no flag comes before it that would say who takes part, which is nearly
// that of a command.
func nearCommand(name string) error {
	meant := mistyped.Near(name, slices.Sorted(maps.Keys(commands)))
	if _, err := os.Stat(name); meant == "" || err == nil {
		return nil
	}
	return fmt.Errorf("%s is no command: is %s meant? -h lists them all", name, meant)
}

// Exit codes of fleetrun's own. A failed role's code is handed on as it is.
const (
	exitFailure = 1 // the job could not be started
	exitUsage   = 2 // the command line makes no sense
)

// launch plans, builds, starts and watches a job, and returns its exit code. The error, if any, was not shown yet.
func launch(opts *options, con *console) (int, error) {
	con.quiet, con.verbose = opts.quiet, opts.verbose
	job, err := plan(opts, thisMachine())
	if err != nil {
		return exitUsage, err
	}
	signals, release := catchSignals()
	defer release()
	scratch, remove, err := makeScratch(os.TempDir())
	if err != nil {
		return exitFailure, fmt.Errorf("no directory for temporary files: %w", err)
	}
	defer remove()
	program, err := findProgram(opts.program, scratch, signals, con)
	if err != nil {
		return exitCodeOf(err), err
	}
	job.scratch, job.live, job.width, job.token = scratch, con.live, con.width, job.ownToken(os.Getenv)
	job.shows = asked(os.Getenv(progressVar), con)
	job.lacks = job.unprobed(os.Getenv(healthVar), con)
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
