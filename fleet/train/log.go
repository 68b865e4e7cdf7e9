package train

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
)

// LogSteps writes a record to a logger every so many steps of the worker: its epoch, step, examples and mean loss of
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
				so.Samples,
				"loss", so.Loss}
			for i, n := range r.Job.Show {
				if v := so.Last[i].Float32s(); len(v) == 1 {
					values = append(values, n.Label(), v[0])
				}
			}
			log.InfoContext(ctx, "trained", values...)
			return nil
		},
	}
}

// HistoryCSV writes the history to a file after each evaluation, a line each under the names of the values; with the
// lines from before the job was started again, which it reads back where a checkpoint had no room for all of them. The
// worker that leads writes. A job with a directory for what it leaves has such a file there, history.csv.
func HistoryCSV(file string) Hooks {
	return Hooks{file: file, Begin: named("HistoryCSV", file),
		Evaluated: func(_ context.Context, r *Run, _ Evaluation) error {
			if !r.Leads() {
				return nil
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return err
			}
			return files.Write(file, r.writeHistory)
		}}
}

// named refuses a file without a name, or that is a URL, before an epoch of training.
func named(hook, file string) func(context.Context, *Run) error {
	return func(context.Context, *Run) error {
		if file == "" {
			return fmt.Errorf("train: %s(%q): it needs the name of a file", hook, file)
		}
		if err := files.CheckLocal(file); err != nil {
			return fmt.Errorf("train: %s: %w", hook, err)
		}
		return nil
	}
}

func (r *Run) writeHistory(to io.Writer) error {
	out, names := csv.NewWriter(to), r.tests.names()
	rows := [][]string{append([]string{"epoch", "examples"}, names...)}
	for _, e := range r.History {
		row := []string{strconv.Itoa(e.Epoch), strconv.Itoa(e.Examples)}
		for _, name := range names {
			field := "" // what was not measured
			if v, ok := e.Values[name]; ok {
				field = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, field)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// readHistory reads what writeHistory has written, but for which evaluations were at an epoch's end.
func readHistory(file string) (h []Evaluation, err error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) < 2 {
		return nil, fmt.Errorf("train: %s is no history: %w", file, err)
	}
	for _, row := range rows[1:] {
		e := Evaluation{Values: map[string]float64{}}
		for i, field := range row {
			switch {
			case i == 0:
				e.Epoch, err = strconv.Atoi(field)
			case i == 1:
				e.Examples, err = strconv.Atoi(field)
			case field != "":
				e.Values[rows[0][i]], err = strconv.ParseFloat(field, 64)
			}
			if err != nil {
				return nil, err
			}
		}
		h = append(h, e)
	}
	return h, nil
}
