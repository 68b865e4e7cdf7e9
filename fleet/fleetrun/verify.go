package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mistyped"
)

const verifyUsage = "Usage: fleetrun verify DIR...\n\n" +
	"Reads every byte of the checkpoints and saved models in each DIR, and says of each file whether it is whole.\n" +
	"The exit code is 0 if all are, 1 if something is damaged or nothing whole is there.\n"

// runVerify is "fleetrun verify".
func runVerify(args []string, con *console) error {
	f := flag.NewFlagSet("fleetrun verify", flag.ContinueOnError)
	return lookAt(f, args, func(dirs []string) error { return verify(dirs, con.out) })
}

// parseDirs parses a command line of flags and directories.
func parseDirs(f *flag.FlagSet, args []string) (dirs []string, err error) {
	if err = mistyped.Parse(f, args, nil); err == nil && f.NArg() == 0 {
		err = errors.New("name a directory: -h says of what")
	}
	return f.Args(), err
}

// lookAt calls do with the checkpoints and models in the directories of a command line.
func lookAt(f *flag.FlagSet, args []string, do func(found []string) error) error {
	dirs, err := parseDirs(f, args)
	if err != nil {
		return err
	}
	var all []string
	for _, dir := range dirs {
		found, err := checkpoint.Find(dir)
		if err != nil {
			return failed{err}
		}
		all = append(all, found...)
	}
	if err := do(all); err != nil {
		return failed{err}
	}
	return nil
}

// verify prints what it finds. The error sums up what is damaged.
func verify(dirs []string, out io.Writer) error {
	whole, damaged := 0, 0
	for _, dir := range dirs {
		f, err := checkpoint.Examine(context.Background(), dir)
		switch {
		case err != nil:
			return err
		case f.Damage() != nil:
			damaged++
		case !f.Unfinished():
			whole++
		}
		showFinding(f, out)
	}
	if damaged > 0 || whole == 0 {
		return fmt.Errorf("%d whole, %d damaged, %d not finished", whole, damaged, len(dirs)-whole-damaged)
	}
	return nil
}

const unfinished = "not finished: it is being written, or its job ended before it was whole"

func showFinding(f checkpoint.Finding, out io.Writer) {
	what := "whole"
	switch {
	case f.Unfinished():
		what = unfinished
	case f.Damage() != nil:
		what = "DAMAGED"
	}
	kind := "model"
	switch {
	case f.Unfinished():
		kind = "checkpoint"
	case f.Delta != nil:
		kind = f.Delta.String()
	case !f.Model:
		kind = fmt.Sprintf("checkpoint of update %d", f.Manifest.Step)
	}
	fmt.Fprintf(out, "%s: %s, %s\n", f.Dir, kind, what)
	for _, file := range f.Files {
		state := "whole"
		if file.Err != nil {
			state = "DAMAGED: " + file.Err.Error()
		}
		fmt.Fprintf(out, "  %-60s %10s  %s\n", file.Name, bytesText(file.Bytes), state)
	}
	if f.Err != nil && !f.Unfinished() {
		fmt.Fprintf(out, "  %v\n", f.Err)
	}
}

// bytesText is a size for a person.
func bytesText(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1000, 0
	for x >= 999.95 {
		x, unit = x/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", x, units[unit])
}
