package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/starter"
)

const newUsage = "Usage: fleetrun new DIR --data=FILE --label=FIELD [--test=FILE] [--list=FIELD=SEPARATOR]...\n" +
	"       fleetrun new DIR --days=DIRECTORY --label=FIELD [--list=FIELD=SEPARATOR]...\n" +
	"\n" +
	"Writes a training program for a file of rows, CSV or JSON lines, plain or gzip: it looks at rows, and decides\n" +
	"what each field is to a model that predicts the label. --list says what stands between the values of a field\n" +
	"that has several, as 'tags=|' does, or that one has a single value, as 'title=' does. Without --test a tenth\n" +
	"of the rows are to test on. --days is for rows that come by the day: it names a directory with a directory\n" +
	"for each day, complete once a file _SUCCESS is in it; the program trains them one after another.\n"

// runNew is "fleetrun new".
func runNew(args []string, con *console) error {
	o, err := parseNew(args)
	if err != nil {
		return err
	}
	p, err := o.write()
	if err != nil {
		return failed{err}
	}
	tellNew(con.out, o.dir, p)
	said, err := vetted(context.Background(), o.dir)
	if err != nil {
		return failed{err}
	}
	fmt.Fprintf(con.out, "%s\n\nNext:\n\n%s", said, nextSteps(o.dir, o.days != ""))
	return nil
}

// newArguments are the arguments of fleetrun new.
type newArguments struct {
	dir, data, test, days, label string
	separators                   map[string]string // of lists, by field
}

func parseNew(args []string) (o newArguments, err error) {
	f := flag.NewFlagSet("fleetrun new", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "file of rows")
	f.StringVar(&o.test, "test", "", "file of rows to test on; without one a tenth of --data is")
	f.StringVar(&o.days, "days", "", "in place of --data, a directory with a directory of files for each day")
	f.StringVar(&o.label, "label", "", "field that the model predicts")
	o.separators = map[string]string{}
	f.Func("list", "what stands between a field's values: FIELD=SEPARATOR; FIELD= is one value", func(s string) error {
		field, separator, is := strings.Cut(s, "=")
		if !is {
			return errors.New("want FIELD=SEPARATOR, such as 'tags=|', or FIELD= for a field of one value")
		}
		o.separators[field] = separator
		return nil
	})
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") { // as in the usage, though flags may come first too
		o.dir, args = args[0], args[1:]
	}
	if err := mistyped.Parse(f, args, nil); err != nil {
		return o, err
	}
	if o.dir == "" && f.NArg() == 1 {
		o.dir = f.Arg(0)
	} else if f.NArg() > 0 {
		o.dir = ""
	}
	if o.days != "" && o.data+o.test != "" {
		return o, errors.New("--days has all rows, those of each day tested before they are trained on: leave --data " +
			"and --test out")
	}
	if o.dir == "" || o.data+o.days == "" || o.label == "" {
		return o, errors.New("name a directory, a file of rows and the field to foretell: fleetrun new late " +
			"--data=flights.csv --label=late")
	}
	return o, nil
}

// write writes the program.
func (o newArguments) write() (*starter.Program, error) {
	if o.days != "" {
		return starter.WriteDays(o.dir, o.days, o.label, o.separators)
	}
	return starter.Write(o.dir, o.data, o.test, o.label, o.separators)
}

// tellNew says what the program in dir makes of the rows.
func tellNew(to io.Writer, dir string, p *starter.Program) {
	fmt.Fprintf(to, "%s has a program that predicts for %q %s, from fields of numbers (%d), categories (%d) "+
		"and lists (%d), and crosses of two categories (%d), after reading %d rows.\n", dir, p.Label, p.Task,
		p.Numbers, p.Categories, len(p.Lists), p.Crosses, p.Rows)
	for _, is := range p.Lists {
		fmt.Fprintf(to, "A list: %s.\n", is)
	}
	if strings.Contains(strings.Join(p.Lists, ""), "parted by") {
		fmt.Fprint(to, "If one is not a list, or has another separator: --list='FIELD=' or --list='FIELD=;'.\n")
	}
	for _, why := range p.Left {
		fmt.Fprintf(to, "Left out: %s.\n", why)
	}
}

// buildFor is how long a program may take to be built: with all that it imports, the first time.
const buildFor = 2 * time.Minute

// vetted builds the program in a directory, and says so, or why that is not possible here; the error is one of the
// program's.
func vetted(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildFor)
	defer cancel()
	vet := exec.CommandContext(ctx, "go", "vet", ".")
	vet.Dir, vet.WaitDelay = dir, time.Second
	text, err := vet.CombinedOutput()
	said := strings.TrimSpace(string(text))
	switch {
	case err == nil:
		return "It compiles, and go vet finds nothing wrong with it.", nil
	case ctx.Err() != nil:
		said = fmt.Sprint("go vet takes longer than ", buildFor)
	case strings.HasPrefix(said, "#"): // followed by the package that does not compile
		return "", fmt.Errorf("what was written into %s does not compile, which is fleetrun's mistake: %s", dir, said)
	case said == "":
		said = err.Error()
	}
	said, _, _ = strings.Cut(said, "\n")
	return fmt.Sprintf("It is not built yet (%s).", said), nil
}

// nextSteps are the commands that train the program in a directory, in the module above it or in one of its own.
func nextSteps(dir string, daily bool) string {
	module := "    go get github.com/gofleet/gofleet    # for the module that the directory is in\n"
	if !inModule(dir) {
		module = "    go mod init example.com/mine && go mod tidy\n"
	}
	trains := "train, beside a linear model"
	if daily {
		trains = "train day after day, and wait for more"
	}
	return "    cd " + dir + "\n" + module +
		"    go run . -check    # look at the rows and the net before training\n" +
		"    go run .           # " + trains + "; README.md says what else there is\n"
}

// inModule reports whether a directory, or one above it, has a go.mod.
func inModule(dir string) bool {
	at, err := filepath.Abs(dir)
	for err == nil {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
		at = filepath.Dir(at)
	}
	return false
}
