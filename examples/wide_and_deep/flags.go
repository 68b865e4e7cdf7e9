package main

import (
	"cmp"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// config is what can be chosen, beside what every example has.
type config struct {
	job.Flags
	data, test, format string
	dense              dataset.CriteoDense // how counts of Criteo TSV become numbers
	rows               int
	layers             []int
	explain            bool
	height, dim        int
	initRange          float32
	rule               optimizer.Rule
	strategy           strategy.Strategy
}

func parse(args []string) (config, error) {
	c := config{height: 1_000_001, Flags: job.Flags{Mode: "async", Seed: 1, Epochs: 1, Out: "output/wide_and_deep"}}
	fs := flag.NewFlagSet("wide_and_deep", flag.ContinueOnError)
	c.Register(fs)
	preset := fs.String("preset", "flights", "flights; criteo: the usual size for click logs (rows of 9 from ±0.01, layers 512,256,128,32,"+
		" counts as ln(1+x)); or seed: the original's quick start (batch 10, SGD 1e-4, rows from ±1)")
	fs.StringVar(&c.data, "data", "", "directory or file of Criteo TSV or slot text; empty trains on the flights")
	fs.StringVar(&c.test, "test", "", "directory or file to test on; empty tests on a fifth of -data")
	fs.StringVar(&c.format, "format", "criteo", "of -data and -test: criteo or slots")
	fs.IntVar(&c.rows, "rows", 0, "train and test on so many rows; 0 is all")
	fs.BoolVar(&c.explain, "explain", false, "say after training what a step cost, beside what was expected of the strategy")
	layers := fs.String("layers", "", "widths of the deep part; empty is the preset's")
	if err := c.Parse(args); err != nil {
		return c, err
	}
	if _, err := formatOf(c); err != nil {
		return c, err
	}
	if err := c.apply(*preset); err != nil {
		return c, err
	}
	if err := c.widths(*layers); err != nil {
		return c, err
	}
	if c.test != "" && c.data == "" {
		return c, fmt.Errorf("-test=%s: it goes with -data; the flights have test rows of their own", c.test)
	}
	if c.rows < 0 {
		return c, fmt.Errorf("-rows=%d: they count from 0", c.rows)
	}
	s, err := c.Strategy()
	c.strategy = s
	return c, err
}

// apply fills in a preset's settings.
func (c *config) apply(preset string) error {
	batch := 512
	switch preset {
	case "flights":
		c.dim, c.initRange, c.layers = 10, 0.05, []int{400, 400, 400}
		c.rule = c.Rule(1e-3, 1)
	case "criteo":
		c.dim, c.initRange, c.layers, c.dense = 9, 0.01, []int{512, 256, 128, 32}, dataset.Log1p
		c.rule = c.Rule(1e-3, 1)
	case "seed":
		c.dim, c.initRange, c.layers, batch = 10, 1, []int{400, 400, 400}, 10
		c.rule = optimizer.SGD{LR: cmp.Or(c.LR, 1e-4)}
	default:
		return fmt.Errorf("-preset=%s: there are flights, criteo and seed", preset)
	}
	c.Batch = cmp.Or(c.Batch, batch)
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
			return fmt.Errorf("-layers=%s: %q is no width", list, w)
		}
		c.layers = append(c.layers, n)
	}
	return nil
}
