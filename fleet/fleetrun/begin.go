package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/starter"
)

const newUsage = "Usage: fleetrun new DIR --data=FILE --label=FIELD\n\n" +
	"Writes a training program for a file of rows, CSV or JSON lines, plain or gzip: it looks at rows, and decides\n" +
	"what each field is to a model that foretells the label.\n"

// runNew is the command without the process around it: it returns the exit code.
func runNew(args []string, con *console) int {
	f := flag.NewFlagSet("fleetrun new", flag.ContinueOnError)
	data := f.String("data", "", "file of rows")
	label := f.String("label", "", "field that the model foretells")
	dir := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") { // as in the usage; flags may come first too
		dir, args = args[0], args[1:]
	}
	err := mistyped.Parse(f, args, nil)
	if dir == "" && f.NArg() == 1 {
		dir = f.Arg(0)
	} else if f.NArg() > 0 {
		dir = ""
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(con.out, newUsage)
		return 0
	}
	if err == nil && (dir == "" || *data == "" || *label == "") {
		err = errors.New("name a directory, a file of rows and the field to foretell: fleetrun new late " +
			"--data=flights.csv --label=late")
	}
	if err != nil {
		con.fail(fmt.Errorf("new: %w", err))
		return exitUsage
	}
	p, err := starter.Write(dir, *data, *label)
	if err != nil {
		con.fail(fmt.Errorf("new: %w", err))
		return exitFailure
	}
	fmt.Fprintf(con.out, "%s has a program that foretells of %q %s, by %d fields of numbers and %d of categories, "+
		"after a look at %d rows.\n", dir, p.Label, p.Task, p.Numbers, p.Categories, p.Rows)
	for _, why := range p.Left {
		fmt.Fprintf(con.out, "It leaves out %s.\n", why)
	}
	fmt.Fprintf(con.out, "\nIn %s, of a module of your own (go mod init) that has gofleet (go get "+
		"github.com/gofleet/gofleet):\n\n    go run . -check\n    go run .\n", dir)
	return 0
}
