package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == counterName {
		os.Exit(counterMain(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, os.Args[1:]))
}

// command is main without its exit.
func command(ctx context.Context, args []string) (code int) {
	fs := flag.NewFlagSet("chaos", flag.ContinueOnError)
	runs := fs.Int("runs", 20, "how `many`")
	seed := fs.Uint64("seed", 1, "of the first run; the next has the next")
	mode := fs.String("mode", "", fmt.Sprintf("of all runs; empty takes %v in turn", strategy.Modes()))
	at := fs.String("level", "", fmt.Sprintf("of all runs: %s; empty takes them in turn",
		strings.Join(names(levels), ", ")))
	verbose := fs.Bool("v", false, "keep the directories of all runs, and say where they are")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if err := known(*mode, *at); err != nil || fs.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "chaos:", err, fs.Args())
		return 2
	}
	s, err := newStage(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	defer s.close()
	sheet := newSheet(os.Stdout)
	for i := range *runs {
		p := draw(*seed+uint64(i), strategy.Mode(*mode), *at)
		v := s.play(ctx, p)
		if ctx.Err() != nil {
			return 1
		}
		sheet.line(p, v)
		if *verbose || len(v.wrong) > 0 {
			s.keep(v.dir)
			fmt.Println("      in", v.dir)
		}
	}
	return sheet.end(time.Now())
}

// known returns an error for a mode or level that does not exist.
func known(mode, level string) error {
	if mode != "" && !slices.Contains(strategy.Modes(), strategy.Mode(mode)) {
		return fmt.Errorf("-mode=%s: want one of %v", mode, strategy.Modes())
	}
	if level != "" && !slices.Contains(names(levels), level) {
		return fmt.Errorf("-level=%s: want one of %v", level, names(levels))
	}
	return nil
}
