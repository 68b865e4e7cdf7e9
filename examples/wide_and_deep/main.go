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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	c, err := parse("wide_and_deep", args)
	if err != nil {
		return err
	}
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	_, err = run(ctx, f, c, os.Stdout)
	return err
}
