package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/nn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "serve: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	model := fs.String("model", "output/wide_and_deep/model", "directory of a saved model")
	deltas := fs.String("deltas", "", "directory in which each directory has a delta of the model; empty has none")
	join := fs.Int("join", 0, "rows of different requests that are computed together, while many wait; 0 computes "+
		"each request alone")
	addr := fs.String("addr", "127.0.0.1:8080", "where to listen; it is plain HTTP, for a network that is yours")
	reload := fs.Duration("reload", 2*time.Second, "how often to look for another model in the directory, and for "+
		"deltas; 0 never")
	deadline := fs.Duration("deadline", time.Second, "a request that takes longer is given up")
	body := fs.Int64("body", 1<<20, "bytes that a request may have")
	rows := fs.Int("rows", 4096, "lines, or objects of JSON, that a request may have: what a row takes in memory is "+
		"the model's")
	atOnce := fs.Int("at_once", 4096, "rows of all requests that are computed at a time; few wait for none of many")
	connections := fs.Int("connections", 8192, "connections that may be open; more are closed at once")
	var e examination
	fs.StringVar(&e.eval, "eval", "", "instead of serving: a file of rows with labels, on which it says how right the "+
		"model is: loss, AUC, calibration, what is taken for what")
	fs.StringVar(&e.label, "label", "", "the column of -eval with labels; by default the one that the model is not fed")
	fs.StringVar(&e.by, "by", "", "a field of -eval's rows, by whose values it says so too")
	fs.BoolVar(&e.importance, "importance", false, "-eval says too what is lost without each field")
	predict := fs.String("predict", "", "instead of serving: a file of rows, for each of which it writes what the "+
		"model says of it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q is no flag; -h lists them", fs.Arg(0))
	}
	if *deadline <= 0 || *body <= 0 || *rows <= 0 || *atOnce <= 0 || *connections <= 0 {
		return fmt.Errorf("-deadline=%v -body=%d -rows=%d -at_once=%d -connections=%d: with one of them 0 or less "+
			"every request is refused", *deadline, *body, *rows, *atOnce, *connections)
	}
	switch {
	case *predict != "":
		return predictFile(ctx, *model, *predict, os.Stdout)
	case e.eval != "":
		return e.say(ctx, *model, os.Stdout)
	}
	scorer, err := nn.OpenScorer(*model, nn.ScorerOptions{Deltas: *deltas, Join: *join, MaxRows: *atOnce})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	if _, err := os.Stat(*deltas); *deltas != "" && err != nil {
		slog.Warn("there are no deltas yet", "error", err)
	}
	defer scorer.Close()
	slog.Info("serving", "model", *model, "version", scorer.Version(), "address", l.Addr())
	go keepFresh(ctx, scorer, *reload)
	h := newHandler(scorer, limits{*deadline, *body, *rows})
	return serve(ctx, &bounded{Listener: l, most: int64(*connections)}, h, *deadline)
}

// serve answers requests until ctx ends, and then those that it has accepted.
func serve(ctx context.Context, l net.Listener, h http.Handler, deadline time.Duration) error {
	s := &http.Server{Handler: h, ReadTimeout: deadline, WriteTimeout: 2 * deadline, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		slog.Info("ending: requests under way are answered", "cause", context.Cause(ctx))
		ended <- s.Shutdown(context.WithoutCancel(ctx))
	})
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	err := <-ended
	slog.Info("ended")
	return err
}

// keepFresh takes up each model that is saved into the directory. One that can't be loaded leaves the model before.
func keepFresh(ctx context.Context, s *nn.Scorer, every time.Duration) {
	tick := time.NewTicker(cmp.Or(max(every, 0), 1<<62))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := s.Reload()
		if err != nil {
			slog.Error("the model before stays", "error", err)
		} else if changed {
			slog.Info("serving another model", "version", s.Version())
		}
	}
}
