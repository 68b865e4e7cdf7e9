package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// kept are the results that the pages show, and the picture of them.
const kept, keptPicture = "internal/bench/testdata/results.json", "internal/bench/testdata/results.svg"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command is main without its exit.
func command(ctx context.Context, args []string, out io.Writer) error {
	l, err := newLab(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	rounds := fs.Int("n", 5, "rounds")
	only := fs.String("rows", "", "a `pattern` of the rows to run; empty runs all")
	list := fs.Bool("list", false, "print the rows, and which peers are here")
	file := fs.String("json", "", "a `file` for the results; rows of earlier runs of the same commit stay in it")
	picture := fs.String("svg", "", "a `file` for a picture of the quotients")
	show := fs.String("pages", "", "a `file` of results that the tables of pages are to show; runs nothing")
	fs.StringVar(&l.torch, "torch", "python3", "a Python that imports torch and numpy")
	fs.StringVar(&l.paddle, "paddle", "python3", "a Python that imports paddle and numpy")
	fs.StringVar(&l.pslite, "pslite", "", "the source tree of ps-lite")
	if err := fs.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	switch {
	case err != nil:
		return fmt.Errorf("-rows: %w", err)
	case *rounds < 1 || fs.NArg() > 0:
		return fmt.Errorf("-n=%d and arguments %q: want 1 round or more, and flags alone", *rounds, fs.Args())
	case *show != "":
		return writePages(l.root, *show)
	case *list:
		return l.list(ctx, out)
	}
	all := slices.DeleteFunc(rows(), func(r row) bool { return !pattern.MatchString(r.name) })
	if len(all) == 0 {
		return fmt.Errorf("-rows=%s: it matches no row; -list prints them", *only)
	}
	r := results{Machine: thisMachine(ctx)}
	r.Machine.Rounds = *rounds
	if err := errors.Join(l.makeClicks(trainRows, testRows), l.settle(ctx, &r.Machine)); err != nil {
		return err
	}
	for _, row := range all {
		res := row.do(ctx, l, &r.Machine, os.Stderr)
		if ctx.Err() != nil {
			break
		}
		r.Rows = append(r.Rows, res)
		if err := r.save(*file); err != nil {
			return err
		}
	}
	r.text(out)
	if *picture != "" {
		err = os.WriteFile(*picture, []byte(r.picture()), 0o644)
	}
	return errors.Join(err, r.err(), ctx.Err())
}

// settle measures for a second what other programs use.
func (l *lab) settle(ctx context.Context, m *machine) error {
	meter := startMeter(l.stat, l.used)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	m.Others = meter.others(l.used, m.Cores)
	return ctx.Err()
}

// list prints all rows, and the peers.
func (l *lab) list(ctx context.Context, out io.Writer) error {
	for _, row := range rows() {
		fmt.Fprintf(out, "%-28s %s\n", row.name, row.work)
		for _, s := range row.sides {
			_, asked := l.peers[s.peer]
			if p := l.have(ctx, s.peer); s.peer != "" && !asked {
				defer fmt.Fprintf(out, "%s: %s %v\n", s.peer, p.version, p.err)
			}
		}
	}
	return nil
}

// save writes what was measured so far; rows that a file has from before stay, or are replaced.
func (r results) save(file string) error {
	if file == "" {
		return nil
	}
	all, err := readResults(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		all = r
	case err != nil:
		return err
	default:
		if err := all.add(r); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(all, "", "\t")
	return errors.Join(err, os.WriteFile(file, append(text, '\n'), 0o644))
}

func readResults(file string) (r results, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// writePages keeps results, with their picture, and has the pages show them.
func writePages(root, file string) error {
	r, err := readResults(file)
	if err := errors.Join(err, r.err()); err != nil {
		return fmt.Errorf("pages show no row that has failed; run it again, into the same file: %w", err)
	}
	text, err := os.ReadFile(file)
	errs := []error{err, os.WriteFile(filepath.Join(root, kept), text, 0o644),
		os.WriteFile(filepath.Join(root, keptPicture), []byte(r.picture()), 0o644)}
	for _, page := range pages {
		path := filepath.Join(root, page)
		old, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(r.fill(string(old))), 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
