package main

import (
	"cmp"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/optimizer"
)

// config is what can be chosen, beside what every job has.
type config struct {
	train.Options
	preset, layerList  string
	data, test, format string
	rows               int
	explain            bool

	// Of the preset, and what amends it:
	dense       dataset.CriteoDense // how counts of Criteo TSV become numbers
	layers      []int
	height, dim int
	initRange   float32
	rule        optimizer.Rule
}

func newConfig(fs *flag.FlagSet) *config {
	c := &config{height: 1_000_001, Options: train.Options{Mode: "async", Seed: 1,
		Epochs: 1, Out: "output/wide_and_deep"}}
	fs.StringVar(&c.preset, "preset", "flights", "flights, in batches of 512; criteo: the usual size for click logs "+
		"(rows of 9 from ±0.01, layers 512,256,128,32, counts as ln(1+x)), in batches that fit; or seed: the "+
		"original's quick start (SGD 1e-4, rows from ±1; its batch is 10)")
	fs.StringVar(&c.data, "data", "", "directory or file of Criteo TSV or slot text; empty trains on the flights")
	fs.StringVar(&c.test, "test", "", "directory or file to test on; empty tests on a fifth of -data")
	fs.StringVar(&c.format, "format", "criteo", "of -data and -test: criteo or slots")
	fs.IntVar(&c.rows, "rows", 0, "number of rows to train and test on; 0 means all")
	fs.BoolVar(&c.explain, "explain", false, "print after training the measured and the expected cost of a step")
	fs.StringVar(&c.layerList, "layers", "", "widths of the deep part; empty means the preset's")
	return c
}

// check applies the preset, and says what is wrong with the flags.
func (c *config) check() error {
	if err := c.apply(c.preset); err != nil {
		return err
	}
	if c.test != "" && c.data == "" {
		return fmt.Errorf("-test=%s: it goes with -data; the flights have test rows of their own", c.test)
	}
	if c.rows < 0 {
		return fmt.Errorf("-rows=%d: they count from 0", c.rows)
	}
	return c.widths(c.layerList)
}

// apply fills in a preset's settings.
func (c *config) apply(preset string) error {
	switch preset {
	case "flights":
		c.Batch = cmp.Or(c.Batch, 512)
		c.dim, c.initRange, c.layers = 10, 0.05, []int{400, 400, 400}
		c.rule = c.AdamOrSGD(1e-3, 1)
	case "criteo":
		c.dim, c.initRange, c.layers, c.dense = 9, 0.01, []int{512, 256, 128, 32}, dataset.Log1p
		c.rule = c.AdamOrSGD(1e-3, 1)
	case "seed":
		c.Batch = cmp.Or(c.Batch, 512)
		c.dim, c.initRange, c.layers = 10, 1, []int{400, 400, 400}
		c.rule = optimizer.SGD{LR: cmp.Or(c.LR, 1e-4)}
	default:
		return fmt.Errorf("-preset=%s: want flights, criteo or seed", preset)
	}
	return nil
}

// widths takes the layers that were asked for, if any.
func (c *config) widths(list string) error {
	if list == "" {
		return nil
	}
	c.layers = nil
	for _, w := range strings.Split(list, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			return fmt.Errorf("-layers=%s: width %q must be a whole number, 1 or more", list, w)
		}
		c.layers = append(c.layers, n)
	}
	return nil
}
