package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// config is what can be chosen.
type config struct {
	data, format, out string
	rows, epochs      int
	batch             int
	seed              uint64
	layers            []int
	height, dim       int
	initRange         float32
	rule              optimizer.Rule
	strategy          strategy.Strategy
}

func parse(name string, args []string) (config, error) {
	c := config{height: 1_000_001}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	preset := fs.String("preset", "flights", "flights, or seed: the original's quick start (batch 10, SGD 1e-4, rows from ±1)")
	fs.StringVar(&c.data, "data", "", "directory or file of Criteo TSV or slot text; empty trains on the flights")
	fs.StringVar(&c.format, "format", "criteo", "of -data: criteo or slots")
	fs.StringVar(&c.out, "out", "output/wide_and_deep", "directory for the model; empty saves none")
	fs.IntVar(&c.rows, "rows", 0, "train and test on so many rows; 0 is all")
	fs.IntVar(&c.epochs, "epochs", 1, "passes over the training rows")
	fs.IntVar(&c.batch, "batch", 0, "examples a step and worker; 0 is the preset's")
	fs.Uint64Var(&c.seed, "seed", 1, "of the split, the shuffle and the initial weights")
	mode := fs.String("mode", "async", "sync or async")
	placement := fs.String("placement", "RoundRobin", "RoundRobin or HashName")
	codec := fs.String("codec", "none", "none, s2, zstd or gzip")
	lr := fs.Float64("lr", 0, "learning rate; 0 is the preset's")
	layers := fs.String("layers", "400,400,400", "widths of the deep part")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if err := c.apply(*preset, *lr); err != nil {
		return c, err
	}
	for _, w := range strings.Split(*layers, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			return c, fmt.Errorf("-layers=%s: %q is no width", *layers, w)
		}
		c.layers = append(c.layers, n)
	}
	if c.rows < 0 || c.epochs < 1 || c.batch < 1 {
		return c, fmt.Errorf("-rows=%d -epochs=%d -batch=%d: epochs and batch count from 1, rows from 0", c.rows, c.epochs, c.batch)
	}
	s, err := strategy.Factory(*mode)
	s.Placement, s.Codec = *placement, *codec
	c.strategy = s
	return c, err
}

// apply fills in a preset's settings.
func (c *config) apply(preset string, lr float64) error {
	or := func(v, otherwise float64) float64 {
		if v != 0 {
			return v
		}
		return otherwise
	}
	switch preset {
	case "flights":
		c.dim, c.initRange = 10, 0.05
		c.rule = optimizer.Adam{LR: or(lr, 1e-3)}
		if c.batch == 0 {
			c.batch = 512
		}
	case "seed":
		c.dim, c.initRange = 10, 1
		c.rule = optimizer.SGD{LR: or(lr, 1e-4)}
		if c.batch == 0 {
			c.batch = 10
		}
	default:
		return fmt.Errorf("-preset=%s: there are flights and seed", preset)
	}
	return nil
}
