package job

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofleet/gofleet/fleet"
)

// Program is what every role of a job runs. What it has to say goes to out.
type Program func(ctx context.Context, f *fleet.Fleet, out io.Writer) error

// Main runs a program that parse makes of the command line, as the role that the environment says, until it is done or the
// process is interrupted. Errors go to stderr under the program's name, and end the process with status 1.
func Main(name string, parse func(args []string) (Program, error)) {
	if err := start(os.Args[1:], parse); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func start(args []string, parse func(args []string) (Program, error)) error {
	run, err := parse(args)
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
	err = run(ctx, f, os.Stdout)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}
