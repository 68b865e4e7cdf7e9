package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/strategy"
)

func main() {
	if err := start(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	c, err := parse(args)
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
	_, err = run(ctx, f, c, os.Stdout)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

func parse(args []string) (c config, err error) {
	flags := flag.NewFlagSet("mnist", flag.ContinueOnError)
	flags.IntVar(&c.epochs, "epochs", 1, "passes over the training digits")
	mode := flags.String("mode", "async", "sync or async")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("%q is no flag; -h lists them", flags.Arg(0))
	case c.epochs < 1:
		return c, fmt.Errorf("-epochs=%d: they count from 1", c.epochs)
	}
	c.strategy, err = strategy.Factory(*mode)
	return c, err
}
