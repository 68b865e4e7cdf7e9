package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

const inspectUsage = "Usage: fleetrun inspect [--json] DIR...\n\n" +
	"Says what the checkpoints and saved models in each DIR hold. With --json it is an array with an object for each.\n"

// runInspect is "fleetrun inspect".
func runInspect(args []string, con *console) error {
	f := flag.NewFlagSet("fleetrun inspect", flag.ContinueOnError)
	asJSON := f.Bool("json", false, "for programs")
	return lookAt(f, args, func(dirs []string) error { return inspect(dirs, *asJSON, con.out) })
}

// inspect prints the contents of directories, one after the other. Those that can't be read are named at the end. A
// checkpoint that is not finished is no failure, unless there is nothing else.
func inspect(dirs []string, asJSON bool, out io.Writer) error {
	all := []checkpoint.Description{}
	var waiting, failed []string
	for _, dir := range dirs {
		d, err := checkpoint.Describe(dir)
		if errors.Is(err, checkpoint.ErrNone) && len(dirs) > 1 {
			waiting = append(waiting, dir)
			continue
		}
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		all = append(all, d)
	}
	if asJSON {
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	} else {
		for _, d := range all {
			describe(d, out)
		}
		for _, dir := range waiting {
			fmt.Fprintf(out, "%s: a checkpoint, %s\n", dir, unfinished)
		}
	}
	if len(all) == 0 && failed == nil {
		return fmt.Errorf("none of %d checkpoints is finished", len(waiting))
	}
	if failed != nil {
		return errors.New(strings.Join(failed, "\n  "))
	}
	return nil
}

// describe prints one directory for a person.
func describe(d checkpoint.Description, out io.Writer) {
	pinned := ""
	if d.Pinned {
		pinned = ", pinned"
	}
	fmt.Fprintf(out, "%s: a %s%s\n", d.Dir, d.Kind, pinned)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("saved", "%s", d.Saved.Format(time.RFC3339))
	if d.ID != "" {
		line("id", "%s", d.ID)
		if d.Base != "" {
			line("based on", "%s, whose rows are in it where it has no others", d.Base)
		}
		line("rule", "%s", d.Rule)
		line("update", "%d", d.Step)
	}
	if d.Version != "" {
		line("version", "%s", d.Version)
	}
	if d.Delta != nil {
		line("follows", "%s, as delta %d of %s", d.Delta.Follows, d.Delta.Number, d.Delta.Base)
	}
	if len(d.Steps) > 0 {
		line("steps", "each worker's own count since it was started: pushes, and what else servers do once for it, "+
			"such as barriers")
	}
	for w := range max(len(d.Steps), len(d.Positions)) {
		if place := placeText(d, w); place != "" {
			line(fmt.Sprintf("worker %d", w), "%s", place)
		}
	}
	if d.Progress != nil {
		line("progress", "%s", progressText(*d.Progress))
	}
	for _, f := range d.RateFactors {
		line("rate", "times %g from update %d on", f.By, f.From)
	}
	if d.Signature != nil {
		showSignature(d.Signature, line)
	}
	for _, p := range d.Params {
		rows := ""
		if p.Embedding {
			rows = fmt.Sprintf(", %d rows", p.Rows)
		}
		if p.Waiting > 0 {
			rows += fmt.Sprintf(", %d ids wait", p.Waiting)
		}
		if p.Rule != "" && p.Rule != d.Rule {
			rows += ", rule " + p.Rule
		}
		line("param", "%s %v%s, %s", p.Name, p.Shape, rows, bytesText(p.Bytes))
	}
	for _, p := range d.Parts {
		line("file", "%s, %s", p.File, bytesText(p.Bytes))
	}
}

// progressText is the progress that a program recorded. Its epochs count from 0, those in the text from 1.
func progressText(p checkpoint.Progress) string {
	text := "in epoch 1"
	if p.Epoch > 0 {
		text = fmt.Sprintf("after epoch %d", p.Epoch)
	}
	if p.User != nil {
		text += ", user " + userText(p.User)
	}
	return text
}

// placeText is the place of a worker, as far as it is known: a process alone has no steps, and a checkpoint of some
// params no positions.
func placeText(d checkpoint.Description, worker int) string {
	var all []string
	if worker < len(d.Steps) {
		all = append(all, fmt.Sprintf("step %d", d.Steps[worker]))
	}
	if d.Progress != nil && worker < len(d.Positions) && len(d.Positions[worker]) > 0 {
		epoch, samples := progress.Sum(d.Positions[worker])
		if first := d.Firsts[worker]; epoch < first { // it has trained on nothing of a later epoch
			epoch, samples = first, 0
		}
		all = append(all, fmt.Sprintf("%d samples of epoch %d", samples, epoch+1))
	}
	return strings.Join(all, ", ")
}

// userText shows bytes as text if they are text.
func userText(b []byte) string {
	readable := utf8.Valid(b) && len(b) <= 200 && strings.IndexFunc(string(b),
		func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	if readable {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("of %d bytes", len(b))
}
