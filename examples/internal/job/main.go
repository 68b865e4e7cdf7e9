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

// Main runs an example: what parse makes of the command line goes to run, which every role of a job runs, as the role that the
// environment says, until it is done or the process is interrupted. What run has to say goes to out; what it returns is for
// tests. Errors go to stderr under the example's name, and end the process with status 1, with [fleet.ExitWentBack] where
// starting all roles again from the last checkpoint is what helps, or with 2 where the command line makes no sense.
func Main[C, R any](
	name string, parse func(args []string) (C, error), run func(ctx context.Context, f *fleet.Fleet, c C, out io.Writer) (R, error),
) {
	if err := start(os.Args[1:], parse, run); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(status(err))
	}
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

func start[C, R any](
	args []string, parse func([]string) (C, error), run func(context.Context, *fleet.Fleet, C, io.Writer) (R, error),
) error {
	c, err := parse(args)
	if err != nil {
		return usage{err}
	}
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	_, err = run(ctx, f, c, os.Stdout)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}
