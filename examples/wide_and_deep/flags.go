package main

import (
	"cmp"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// config is what can be chosen.
type config struct {
	data, test, format string
	out                string
	dense              dataset.CriteoDense // how counts of Criteo TSV become numbers
	rows, epochs       int
	batch              int
	seed               uint64
	layers             []int
	height, dim        int
	initRange          float32
	rule               optimizer.Rule
	strategy           strategy.Strategy
}

func parse(name string, args []string) (config, error) {
	c := config{height: 1_000_001}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	preset := fs.String("preset", "flights", "flights; criteo: the usual size for click logs (rows of 9 from ±0.01, layers 512,256,128,32,"+
		" counts as ln(1+x)); or seed: the original's quick start (batch 10, SGD 1e-4, rows from ±1)")
	fs.StringVar(&c.data, "data", "", "directory or file of Criteo TSV or slot text; empty trains on the flights")
	fs.StringVar(&c.test, "test", "", "directory or file to test on; empty tests on a fifth of -data")
	fs.StringVar(&c.format, "format", "criteo", "of -data and -test: criteo or slots")
	fs.StringVar(&c.out, "out", "output/wide_and_deep", "directory for the model; empty saves none")
	fs.IntVar(&c.rows, "rows", 0, "train and test on so many rows; 0 is all")
	fs.IntVar(&c.epochs, "epochs", 1, "passes over the training rows")
	fs.IntVar(&c.batch, "batch", 0, "examples a step and worker; 0 is the preset's")
	fs.Uint64Var(&c.seed, "seed", 1, "of the split, the shuffle and the initial weights")
	mode := fs.String("mode", "async", "sync or async")
	placement := fs.String("placement", "RoundRobin", "RoundRobin or HashName")
	codec := fs.String("codec", "none", "none, s2, zstd or gzip")
	payload := fs.String("payload", "float32", "of pushed gradients: float32, float16, bfloat16 or int8")
	lr := fs.Float64("lr", 0, "learning rate; 0 is the preset's")
	layers := fs.String("layers", "", "widths of the deep part; empty is the preset's")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("%q is no flag; -h lists them", fs.Arg(0))
	}
	if _, err := formatOf(c); err != nil {
		return c, err
	}
	if err := c.apply(*preset, *lr); err != nil {
		return c, err
	}
	if err := c.widths(*layers); err != nil {
		return c, err
	}
	if c.test != "" && c.data == "" {
		return c, fmt.Errorf("-test=%s: it goes with -data; the flights have test rows of their own", c.test)
	}
	if c.rows < 0 || c.epochs < 1 || c.batch < 1 {
		return c, fmt.Errorf("-rows=%d -epochs=%d -batch=%d: epochs and batch count from 1, rows from 0", c.rows, c.epochs, c.batch)
	}
	s, err := strategy.Factory(*mode)
	s.Placement, s.Codec, s.Payload = *placement, *codec, strategy.Payload(*payload)
	c.strategy = s
	return c, err
}

// apply fills in a preset's settings.
func (c *config) apply(preset string, lr float64) error {
	batch := 512
	switch preset {
	case "flights":
		c.dim, c.initRange, c.layers = 10, 0.05, []int{400, 400, 400}
		c.rule = optimizer.Adam{LR: cmp.Or(lr, 1e-3)}
	case "criteo":
		c.dim, c.initRange, c.layers, c.dense = 9, 0.01, []int{512, 256, 128, 32}, dataset.Log1p
		c.rule = optimizer.Adam{LR: cmp.Or(lr, 1e-3)}
	case "seed":
		c.dim, c.initRange, c.layers, batch = 10, 1, []int{400, 400, 400}, 10
		c.rule = optimizer.SGD{LR: cmp.Or(lr, 1e-4)}
	default:
		return fmt.Errorf("-preset=%s: there are flights, criteo and seed", preset)
	}
	c.batch = cmp.Or(c.batch, batch)
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
