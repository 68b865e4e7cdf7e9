package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// closing are the last lines of a job that has saved a model: its best evaluation, the model's directory and step, and
// a command that serves it, unless it is no better than a constant. kept reports that the model is of the best
// evaluation.
func (r *Run) closing(ctx context.Context, kept bool) string {
	if len(r.Job.Outputs) == 0 {
		return ""
	}
	model := files.Join(r.Job.Out, "model")
	if r.leaves().noBetter() {
		return r.bestWas(kept, model)
	}
	var row dataset.Batch
	if rows := r.tests.rows; rows != nil {
		row, _ = rows.Take(1).Batch(ctx) // without it, the lines say how to ask for what the model wants
	}
	said := r.bestWas(kept, model)
	if r.days != nil && r.days.Publish.Dir != "" {
		model = r.days.Publish.Dir // which goes on
	}
	return said + r.Job.serving(model, row)
}

// bestWas is a line about the best evaluation, "" without test rows.
func (r *Run) bestWas(kept bool, model string) string {
	var b best
	loss := watched{metric: r.Job.Loss}
	for _, e := range r.History {
		b.look(&loss, r, e, 0)
	}
	if kept {
		b = *r.keeps.best
	}
	if r.tests.rows == nil || b.Number == 0 {
		return ""
	}
	when, of := fmt.Sprintf("in epoch %d", b.At.Epoch), "its model is "+model
	switch patient := func(h Hooks) bool { return h.Name == "EarlyStopping" && !r.stopping.idle }; {
	case kept:
	case b.Number == len(r.History):
		when = fmt.Sprintf("the last, in epoch %d", b.At.Epoch)
	case slices.ContainsFunc(r.hooks, patient):
		of = "the model is the last step's, " + model
	default:
		of = "the model is the last step's, " + model + ", and -patience leaves the best one's"
	}
	said := r.tests.describe(b.At, r.tests.constant.always(r.Job.Files.Format), r.linear)
	return fmt.Sprintf("the best evaluation was %s: %s; %s\n", when, said, of)
}

// serving are lines for a shell: a command that serves a model, and one that requests scores, of the first line of a
// file if examples/serve knows its format, else of a row as JSON. There are none if the directory is not on a disk,
// or has a name that needs quoting; of a model with operations of the program's own, the line says which program can
// serve it.
func (j *Job) serving(model string, row dataset.Batch) string {
	if files.IsURL(model) || !bare(model) {
		return ""
	}
	if j.hasOwnOps() {
		return "serve it: in a program that calls nn.RegisterOp as this one does, with serve.OpenScorer(\"" + model +
			"\", serve.ScorerOptions{})\n"
	}
	ask := j.asking(row)
	if ask == "" {
		ask = "curl -s localhost:8080/model"
	}
	return "serve it: go run github.com/gofleet/gofleet/examples/serve -model=" + model + "\nask it:   " + ask + "\n"
}

// hasOwnOps reports whether the model has operations that only programs which register them can load.
func (j *Job) hasOwnOps() bool {
	var graph bytes.Buffer
	var of struct{ Nodes []struct{ Op string } }
	return j.model().WriteGraph(&graph) == nil && json.Unmarshal(graph.Bytes(), &of) == nil &&
		slices.ContainsFunc(of.Nodes, func(n struct{ Op string }) bool { return n.Op == "custom" })
}

// isOwn reports whether a format is no type of package dataset, so that only programs which register it read its lines.
func isOwn(f dataset.Format) bool {
	return reflect.Indirect(reflect.ValueOf(f)).Type().PkgPath() != reflect.TypeFor[dataset.CSV]().PkgPath()
}

// bare reports whether a path needs no quotes in a shell, and can't be taken for a flag.
func bare(path string) bool {
	return !strings.HasPrefix(path, "-") && !strings.ContainsFunc(path, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("./+@%,-_", c)
	})
}

// longestRow is the most bytes of a row that are printed for a request.
const longestRow = 600

// asking requests the scores of the first row of a file or, with its labels, of this one; "" if that is too long to be
// read.
func (j *Job) asking(row dataset.Batch) string {
	paths, err := listed(j.Files.Paths)
	if f := j.Files.Format; f != nil && !isOwn(f) && err == nil && len(paths) > 0 && isText(paths[0]) {
		lines := 1
		if f, is := j.Files.Format.(dataset.CSV); is && f.Fields == nil {
			lines = 2 // the names of the fields first
		}
		return fmt.Sprintf("head -n %d %s | curl -s localhost:8080/score --data-binary @-", lines, paths[0])
	}
	var said bytes.Buffer
	var of struct{ Feeds []nn.Value }
	if j.model().WriteSignature(&said) != nil || json.Unmarshal(said.Bytes(), &of) != nil {
		return ""
	}
	var inputs, labels []string
	for _, feed := range of.Feeds {
		values := printed(row, feed.Name)
		if values == "" {
			return ""
		}
		inputs = append(inputs, fmt.Sprintf("%q:%s", feed.Name, values))
	}
	for _, a := range verdict.Aims(j.Loss) {
		if values := printed(row, a.Label.Name()); values != "" {
			labels = append(labels, fmt.Sprintf("%s is %s", a.Label.Name(), strings.Trim(values, "[]")))
		}
	}
	line, what := strings.Join(inputs, ","), "a test row"
	if len(line) > longestRow || strings.Contains(line, "'") {
		return ""
	}
	if len(labels) > 0 {
		what += ", whose " + strings.Join(labels, " and ")
	}
	return "curl -s localhost:8080/score -H 'Content-Type: application/json' -d '[{" + line + "}]'\n" +
		"          (" + what + ")"
}

// printed is a feed of a row as JSON; "" if the row has none, or a number that JSON can't have.
func printed(row dataset.Batch, feed string) string {
	if row[feed] == nil {
		return ""
	}
	text, err := json.Marshal(row[feed].Data())
	if err != nil {
		return ""
	}
	return string(text)
}

// isText reports whether head can print a file: it is on a disk, with a name that needs no quotes, and not compressed.
func isText(path string) bool {
	if files.IsURL(path) || !bare(path) {
		return false
	}
	f, err := files.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begins := make([]byte, 512)
	n, _ := f.Read(begins)
	return n > 0 && !bytes.ContainsRune(begins[:n], 0) && begins[0] != 0x1f && begins[0] != 0x28
}
