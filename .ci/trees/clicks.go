package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/ctr_dnn/clicks"
)

// writeClicks writes the clicks that examples/ctr_dnn makes up with -seed=0 as JSON lines: a slot of one id as a
// number, others as arrays.
func writeClicks(dir string) error {
	f, err := os.Create(filepath.Join(dir, "clicks.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	rows := clicks.Generate(0, 200_000)
	for batch, err := range rows.Batches(1000) {
		if err != nil {
			return err
		}
		if err := writeLines(out, batch); err != nil {
			return err
		}
	}
	number := make([]int64, 200_000)
	for i := range number {
		number[i] = int64(i)
	}
	_, random := dataset.FromColumns(dataset.IntValues("number", number)).Split(0.8, 0)
	return errors.Join(out.Flush(), list(filepath.Join(dir, "clicks-random"), random))
}

// writeLines writes a line of JSON for each row.
func writeLines(out *bufio.Writer, batch dataset.Batch) error {
	for i, label := range batch[clicks.Label].Float32s() {
		row := map[string]any{clicks.Label: label}
		for _, slot := range clicks.Slots() {
			ends := batch[slot+".offsets"].Int64s()
			ids := batch[slot].Int64s()[ends[i]:ends[i+1]]
			if row[slot] = ids; slot == "user" || slot == "item" || slot == "hour" {
				row[slot] = ids[0]
			}
		}
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
