package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/strategy"
)

func main() {
	var c config
	flag.IntVar(&c.epochs, "epochs", 1, "passes over the training digits")
	mode := flag.String("mode", "async", "sync or async")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, c, *mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, c config, mode string) (err error) {
	if c.strategy, err = strategy.Factory(mode); err != nil {
		return err
	}
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	_, err = run(ctx, f, c, os.Stdout)
	return err
}
