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

	"github.com/gofleet/gofleet/nn/serve"
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
	model := fs.String("model", "output/wide_and_deep/model", "directory of a saved model or, to serve, "+
		"in which a job publishes")
	deltas := fs.String("deltas", "", "directory whose subdirectories are deltas of the model; empty means none")
	join := fs.Int("join", 0, "largest number of rows of different requests computed together when many wait; 0 "+
		"computes each request alone")
	addr := fs.String("addr", "127.0.0.1:8080", "address to listen at; plain HTTP, for trusted networks only")
	reload := fs.Duration("reload", 2*time.Second, "how often to look for a new model or new deltas; 0 means never")
	deadline := fs.Duration("deadline", time.Second, "longest time of a request")
	body := fs.Int64("body", 1<<20, "largest request, in bytes")
	rows := fs.Int("rows", 4096, "most lines or JSON objects in a request; the memory of a row depends on the model")
	atOnce := fs.Int("at_once", 4096, "most rows of all requests computed at a time; requests with few rows go first")
	connections := fs.Int("connections", 8192, "most open connections; further ones are closed at once")
	var e examination
	fs.StringVar(&e.eval, "eval", "", "instead of serving, evaluate the model on a file of rows with labels: loss, "+
		"AUC, calibration, confusion matrix")
	fs.StringVar(&e.label, "label", "", "the column of labels for -eval; by default the one that is not an input of "+
		"the model")
	fs.StringVar(&e.by, "by", "", "a field of the rows: -eval also reports results for each of its values")
	fs.BoolVar(&e.importance, "importance", false, "-eval also reports the importance of each field")
	predict := fs.String("predict", "", "instead of serving, write the predictions of the model for each row of a "+
		"file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; want flags only, see -h", fs.Arg(0))
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
	scorer, err := serve.OpenScorer(*model, serve.ScorerOptions{Deltas: *deltas, Join: *join, MaxRows: *atOnce})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	if _, err := os.Stat(*deltas); *deltas != "" && err != nil {
		slog.Warn("no deltas yet", "error", err)
	}
	defer scorer.Close()
	slog.Info("serving", "model", *model, "version", scorer.Version(), "address", l.Addr())
	go keepFresh(ctx, scorer, *reload)
	h := newHandler(scorer, limits{*deadline, *body, *rows})
	return listen(ctx, &bounded{Listener: l, most: int64(*connections)}, h, *deadline)
}

// listen answers requests until ctx ends, and then those that it has accepted.
func listen(ctx context.Context, l net.Listener, h http.Handler, deadline time.Duration) error {
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
func keepFresh(ctx context.Context, s *serve.Scorer, every time.Duration) {
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
