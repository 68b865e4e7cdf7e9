package train

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/mistyped"
)

// Main is a program's main function: it parses the command line, with the flags of o and those that the program has defined, makes the job
// and runs it as the role that the environment says, until it is done or the process is interrupted.
//
//	func main() {
//		o := train.Options{Epochs: 3, Out: "output"}
//		file := flag.String("data", "flights.csv", "CSV file")
//		train.Main(&o, func() (train.Job, error) { return newJob(o, *file) })
//	}
//
// A program that has to look at its flags first parses them itself, by [Options.Parse] or as package flag
// has it; Main then leaves that out.
//
// An error goes to stderr under the program's name. It ends the process with status 1, with [fleet.ExitWentBack] where starting all roles
// again from the last checkpoint is what helps, or with 2 where the command line makes no sense.
func Main(o *Options, job func() (Job, error)) {
	if o == nil || job == nil {
		fail(errors.New("train: Main(options, job): one of them is nil: it needs a program's options, and a function that makes its job"))
	}
	if !flag.Parsed() {
		o.Parse()
	}
	if err := start(o, flag.Args(), job); err != nil {
		fail(err)
	}
}

// Parse adds the options' flags to those of the program and parses the command line as flag.Parse does. A mistake ends the process with
// status 2 too, after a line that says which flag was probably meant.
func (c *Options) Parse() {
	c.Register(flag.CommandLine)
	switch err := mistyped.Parse(flag.CommandLine, os.Args[1:], nil); {
	case errors.Is(err, flag.ErrHelp):
		flag.Usage()
		os.Exit(0)
	case err != nil:
		fail(usage{err})
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
	os.Exit(status(err))
}

// usage is an error of the command line.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func status(err error) int {
	if _, is := errors.AsType[usage](err); is {
		return 2
	}
	if errors.Is(err, fleet.ErrWentBack) {
		return fleet.ExitWentBack
	}
	return 1
}

func start(o *Options, args []string, job func() (Job, error)) error {
	if len(args) > 0 {
		return usage{fmt.Errorf("%q is no flag; -h lists them", args[0])}
	}
	if err := o.Check(); err != nil {
		return usage{err}
	}
	j, err := job()
	if err != nil {
		return err
	}
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	_, err = j.Run(ctx, f)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}
