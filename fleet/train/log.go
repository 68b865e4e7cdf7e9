package train

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// LogSteps writes a log record after every given number of the worker's steps: epoch, step, examples and mean loss of
// the epoch so far, and the values that the job shows.
func LogSteps(log *slog.Logger, every int) Hooks {
	return Hooks{
		Begin: func(context.Context, *Run) error {
			if log == nil || every < 1 {
				return fmt.Errorf("train: LogSteps(%v, %d): it needs a logger, and steps count from 1", log, every)
			}
			return nil
		},
		Step: func(ctx context.Context, r *Run, so nn.TrainResult) error {
			if so.Steps%every != 0 {
				return nil
			}
			values := []any{"worker", r.Fleet.WorkerIndex(), "epoch", r.Epoch + 1, "step", so.Steps, "examples",
				so.Samples, "loss", so.Loss}
			last := so.Last()
			for i, n := range r.Job.Show {
				if v := last[i].Float32s(); len(v) == 1 {
					values = append(values, n.Label(), v[0])
				}
			}
			log.InfoContext(ctx, "trained", values...)
			return nil
		},
	}
}

// HistoryCSV writes the history to a file after each evaluation: a header with the names of the values, and a line for
// each evaluation, including those from before the job was restarted. (A checkpoint keeps only some of them; the others
// are read back from the file.) The last columns are the evaluation's [Pace]: seconds, examples/s of all workers,
// learning rate and gradient norm, empty if unknown. The leading worker writes. A job with an output directory has such
// a file there, history.csv.
func HistoryCSV(file string) Hooks {
	h := rewritten(file, "HistoryCSV", func(r *Run, to io.Writer) error {
		return writeHistory(to, r.tests.names(), r.History, r.paces)
	})
	h.file = file
	return h
}

// HistoryJSON writes the history to a file after each evaluation, as HistoryCSV does, with a line of JSON for each: one
// object of numbers, with names that Weights & Biases and MLflow accept unchanged, such as test_loss and
// examples_per_second. Unknown values, and values that are not finite, are left out. If the file is "-", each line is
// printed to the job's output.
//
//	for line in open("history.jsonl"): wandb.log(json.loads(line))
func HistoryJSON(file string) Hooks {
	if file == "-" {
		return Hooks{Evaluated: func(_ context.Context, r *Run, e Evaluation) error {
			if !r.Leads() {
				return nil
			}
			return writeJSON(r.Job.Stdout, r.tests.names(), r.paces, e)
		}}
	}
	return rewritten(file, "HistoryJSON", func(r *Run, to io.Writer) error {
		return writeJSON(to, r.tests.names(), r.paces, r.History...)
	})
}

// rewritten returns hooks that write a file again after each evaluation.
func rewritten(file, hook string, write func(r *Run, to io.Writer) error) Hooks {
	h := beside(file, func(r *Run) error {
		if err := files.MakeDirs(files.Dir(file)); err != nil {
			return err
		}
		return files.Write(file, func(to io.Writer) error { return write(r, to) })
	})
	h.Begin = named(hook, file)
	return h
}

// beside returns hooks by which the leading worker writes a file after each evaluation. The job is not for that file:
// if it can't be written the job warns, and writes it again after the next evaluation, or else at the end.
func beside(file string, write func(r *Run) error) Hooks {
	failed := false
	try := func(r *Run, next string) error {
		if !r.Leads() {
			return nil
		}
		err := write(r)
		if failed = err != nil; failed {
			slog.Warn("train: a file could not be written, and the job goes on: "+next, "file", file, "error", err)
		}
		return nil
	}
	return Hooks{
		Evaluated: func(_ context.Context, r *Run, _ Evaluation) error {
			return try(r, "it is written again after the next evaluation")
		},
		End: func(_ context.Context, r *Run) error {
			if !failed {
				return nil
			}
			return try(r, "it stays as it is")
		},
	}
}

// named refuses a missing file name, or a file that can't be written, before an epoch of training.
func named(hook, file string) func(context.Context, *Run) error {
	return func(_ context.Context, r *Run) error {
		if file == "" {
			return fmt.Errorf("train: %s(%q): it needs the name of a file", hook, file)
		}
		if err := files.Check(file); err != nil {
			return fmt.Errorf("train: %s: %w", hook, err)
		}
		dir := files.Dir(file)
		if dir == r.Job.Out || !r.Leads() { // Out was tested
			return nil
		}
		if err := files.CheckWritable(dir); err != nil {
			return fmt.Errorf("train: %s(%q) can't be written: %w", hook, file, err)
		}
		return nil
	}
}

// paceColumns are the columns after the values.
var paceColumns = []string{"seconds", "examples/s", "learning rate", "gradient norm"}

// columns are the numbers of a pace, in the order of paceColumns.
func (p *Pace) columns() [4]*float64 { return [4]*float64{&p.Seconds, &p.Rate, &p.LR, &p.GradientNorm} }

// texts are the numbers in the form of the files: "" for unknown ones, without meaningless digits.
func (p Pace) texts() (all []string) {
	for i, v := range p.columns() {
		text := ""
		if *v != 0 {
			text = strconv.FormatFloat(*v, 'g', [4]int{6, 6, -1, 4}[i], 64)
		}
		all = append(all, text)
	}
	return all
}

// writeHistory writes evaluations as lines of CSV, with a header of their names.
func writeHistory(to io.Writer, names []string, history []Evaluation, paces paces) error {
	rows := [][]string{slices.Concat([]string{"epoch", "examples"}, names, paceColumns)}
	for _, e := range history {
		row := []string{strconv.Itoa(e.Epoch), strconv.Itoa(e.Examples)}
		for _, name := range names {
			field := "" // for a value that was not measured
			if v, ok := e.Values[name]; ok {
				field = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, field)
		}
		rows = append(rows, append(row, paces.of(e).texts()...))
	}
	return csv.NewWriter(to).WriteAll(rows)
}

// writeJSON writes evaluations as lines of JSON, without numbers that are not finite, which JSON can't represent.
func writeJSON(to io.Writer, names []string, paces paces, evaluations ...Evaluation) error {
	for _, e := range evaluations {
		line := fmt.Appendf(nil, `{"epoch":%d,"examples":%d`, e.Epoch, e.Examples)
		for _, name := range names {
			if v, ok := e.Values[name]; ok && finite(v) {
				line = fmt.Appendf(line, ",%q:%s", plainName(name), strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		for i, text := range paces.of(e).texts() {
			if text != "" {
				line = fmt.Appendf(line, ",%q:%s", plainName(paceColumns[i]), text)
			}
		}
		if _, err := to.Write(append(line, "}\n"...)); err != nil {
			return err
		}
	}
	return nil
}

// plainName is a name of letters and digits of any script, dots, dashes and underscores, which every experiment tracker
// accepts.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '.' || c == '-' {
			return c
		}
		return '_'
	}, strings.ReplaceAll(name, "/s", "_per_second"))
}

// readHistory reads what writeHistory has written, except which evaluations were at an epoch's end. Columns of paces
// may be missing.
func readHistory(file string) (h []Evaluation, paces []Pace, err error) {
	text, err := files.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer text.Close()
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 {
		return nil, nil, fmt.Errorf("train: %s is not a history: %w", file, err)
	}
	for _, row := range rows[1:] {
		e, p := Evaluation{Values: map[string]float64{}}, Pace{}
		for i, field := range row {
			column := slices.Index(paceColumns, rows[0][i])
			switch {
			case i == 0:
				e.Epoch, err = strconv.Atoi(field)
			case i == 1:
				e.Examples, err = strconv.Atoi(field)
			case field == "":
			case column >= 0:
				*p.columns()[column], err = strconv.ParseFloat(field, 64)
			default:
				e.Values[rows[0][i]], err = strconv.ParseFloat(field, 64)
			}
			if err != nil {
				return nil, nil, err
			}
		}
		h, paces = append(h, e), append(paces, p)
	}
	return h, paces, nil
}
