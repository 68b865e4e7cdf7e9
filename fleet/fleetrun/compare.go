package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/gofleet/gofleet/internal/runs"
)

const compareUsage = "Usage: fleetrun compare [--by COLUMN] DIR...\n\n" +
	"Shows training jobs side by side, by what they left in each DIR (-out): the best of each metric and its epoch,\n" +
	"the rate, the time, and the flags in which they differ. The best is first, by a column of history.csv;\n" +
	"without --by that is the test loss.\n"

// runCompare is "fleetrun compare".
func runCompare(args []string, con *console) error {
	f := flag.NewFlagSet("fleetrun compare", flag.ContinueOnError)
	by := f.String("by", "", "column of history.csv")
	dirs, err := parseDirs(f, args)
	if err != nil {
		return err
	}
	var all []runs.Run
	var odd []error
	for _, dir := range dirs {
		if filepath.Base(dir) == runs.History { // from a pattern such as output/*/history.csv
			dir = filepath.Dir(dir)
		}
		r, err := runs.Read(filepath.Clean(dir))
		if err != nil {
			odd = append(odd, err)
			continue
		}
		all = append(all, r)
	}
	err = compareRuns(all, *by, con.out)
	for _, e := range odd {
		con.fail(fmt.Errorf("compare: left out: %w", e))
	}
	if err == nil && len(all) == 0 {
		err = errors.New("no job has left a history in these directories: name those of -out")
	}
	if err != nil {
		return failed{err}
	}
	return nil
}

// compareRuns writes a row for each job.
func compareRuns(all []runs.Run, by string, out io.Writer) error {
	if len(all) == 0 {
		return nil
	}
	metrics := columnsOf(all)
	if by == "" {
		by = metrics[0]
	}
	if !slices.Contains(metrics, by) {
		return fmt.Errorf("no history has a column %q: they have %s", by, strings.Join(metrics, ", "))
	}
	slices.SortStableFunc(all, func(a, b runs.Run) int {
		x, y := a.Best(by), b.Best(by)
		switch {
		case x == nil || y == nil:
			return boolean(x == nil) - boolean(y == nil)
		case a.Better(by, x[by], y[by]):
			return -1
		}
		return boolean(b.Better(by, y[by], x[by]))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	differ := differing(all)
	fmt.Fprint(w, "job")
	for _, m := range metrics {
		fmt.Fprintf(w, "\t%s\tepoch", m)
	}
	fmt.Fprintln(w, "\texamples/s\ttrained for\tdiffers in")
	for _, r := range all {
		fmt.Fprint(w, r.Dir)
		for _, m := range metrics {
			fmt.Fprint(w, "\t", bestText(r, m))
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\n", rateText(r), timeText(r), flagsText(r, differ))
	}
	return w.Flush()
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// columnsOf are the measured columns of all histories, on test rows if there are any, the loss first.
func columnsOf(all []runs.Run) (metrics []string) {
	for _, prefix := range []string{"test ", "train "} {
		for _, r := range all {
			for _, c := range r.Columns {
				if strings.HasPrefix(c, prefix) && !slices.Contains(metrics, c) && r.Best(c) != nil {
					metrics = append(metrics, c)
				}
			}
		}
		if len(metrics) > 0 {
			return metrics
		}
	}
	return []string{"epoch"}
}

// bestText is the best value of a column, with its epoch.
func bestText(r runs.Run, column string) string {
	best := r.Best(column)
	if best == nil {
		return "\t"
	}
	return fmt.Sprintf("%.4f\t%g/%g", best[column], best["epoch"], r.Rows[len(r.Rows)-1]["epoch"])
}

// rateText is the rate at which all workers trained, in examples a second, as far as the history has it.
func rateText(r runs.Run) string {
	var examples, seconds float64
	for _, row := range r.Rows { // an evaluation's rate is of the time since the one before
		if rate := row["examples/s"]; rate > 0 {
			span := row["seconds"] - seconds
			examples, seconds = examples+rate*span, row["seconds"]
		}
	}
	if seconds == 0 {
		return ""
	}
	return strconv.FormatFloat(examples/seconds, 'f', 0, 64)
}

func timeText(r runs.Run) string {
	seconds := r.Rows[len(r.Rows)-1]["seconds"]
	if seconds == 0 {
		return ""
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// differing are the flags whose values differ between jobs, except those that name output places.
func differing(all []runs.Run) (names []string) {
	places := []string{"out", "checkpoint", "journal", "log_json", "tensorboard"}
	for _, r := range all {
		for name, value := range facts(r) {
			alike := func(o runs.Run) bool { v, has := facts(o)[name]; return has && v == value }
			if !slices.Contains(places, name) && !slices.Contains(names, name) &&
				slices.ContainsFunc(all, func(o runs.Run) bool { return o.About.Flags != nil && !alike(o) }) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// facts are a job's flags, and its numbers of processes.
func facts(r runs.Run) map[string]string {
	if r.About.Flags == nil {
		return nil
	}
	all := maps.Clone(r.About.Flags)
	all["(servers)"], all["(workers)"] = strconv.Itoa(r.About.Servers), strconv.Itoa(r.About.Workers)
	all["(program)"] = r.About.Program
	return all
}

func flagsText(r runs.Run, names []string) string {
	if r.About.Flags == nil {
		return "(no " + runs.File + ")"
	}
	var said []string
	for _, name := range names {
		value, has := facts(r)[name]
		switch word, about := strings.CutPrefix(name, "("); {
		case about:
			said = append(said, strings.TrimSuffix(word, ")")+" "+value)
		case has:
			said = append(said, "-"+name+"="+inOneWord(value))
		}
	}
	return strings.Join(said, " ")
}

// inOneWord quotes a value with spaces, line ends, or characters that control a terminal.
func inOneWord(value string) string {
	if strings.ContainsFunc(value, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }) {
		return strconv.Quote(value)
	}
	return value
}
