package job

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Flags are those that every example has. Their values before [Flags.Register] are the defaults.
type Flags struct {
	Mode   string  // of the strategy; empty is async with servers, and sync, which is all there is, without
	Seed   uint64  // of the data's order and the first weights
	Batch  int     // examples a step and thread; where the default is 0, 0 leaves it to the example
	Epochs int     // passes over the training data
	Out    string  // where the model goes; empty saves none
	Load   string  // a checkpoint to go on from, which any number of servers may have written
	LR     float64 // learning rate; 0 is the example's
	// Threads that train in a worker, 0 and 1 being one; modes in which workers wait for each other have room for one only.
	Threads int

	// Checkpoint is where checkpoints go by themselves, and where a job that is started again goes on from; empty has none.
	Checkpoint string

	checkpointEvery                  time.Duration
	journal                          string
	placement, codec, payload, amend string
	kSteps, leastBatch               int
	fs                               *flag.FlagSet
}

// Register adds the flags to a set.
func (c *Flags) Register(fs *flag.FlagSet) {
	c.fs, c.leastBatch = fs, min(c.Batch, 1)
	fs.StringVar(&c.Mode, "mode", c.Mode, modes())
	fs.IntVar(&c.kSteps, "k_steps", 0, "steps between exchanges with the servers, in modes that have them; 0 is the mode's own")
	fs.StringVar(&c.amend, "strategy", "", `more of the strategy, as JSON: {"worker_timeout": "10s"}`)
	fs.StringVar(&c.placement, "placement", "RoundRobin", "RoundRobin, HashName or Balanced")
	fs.StringVar(&c.codec, "codec", "none", strings.Join(strategy.Codecs(), ", "))
	fs.StringVar(&c.payload, "payload", "float32", "of pushed gradients: float32, float16, bfloat16 or int8")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "of the data's order and the first weights")
	fs.IntVar(&c.Epochs, "epochs", c.Epochs, "passes over the training data")
	fs.IntVar(&c.Threads, "threads", 1, "that train in a worker; more than one in modes async, half_async and geo, and alone")
	fs.IntVar(&c.Batch, "batch", c.Batch, "examples a step and thread; 0, where it is the default, is the preset's")
	fs.Float64Var(&c.LR, "lr", c.LR, "learning rate; 0 is the example's")
	fs.StringVar(&c.Load, "load", c.Load, "checkpoint to go on from, of a job with any number of servers, such as output/mnist/checkpoint")
	fs.StringVar(&c.Checkpoint, "checkpoint", c.Checkpoint, "directory for checkpoints, at each epoch's end and in between; a job "+
		"that is started again goes on from the newest whole one, which comes before -load")
	fs.StringVar(&c.journal, "journal", "", "directory on each server's local disk for what it does between checkpoints: a server that is "+
		"killed and started again goes on where it was, as with fleetrun --restart_servers; with -checkpoint")
	fs.DurationVar(&c.checkpointEvery, "checkpoint_every", 0, "time between two checkpoints; 0 is 1m")
	fs.StringVar(&c.Out, "out", c.Out, "directory for the model; empty saves none")
}

func modes() string {
	var names []string
	for _, m := range strategy.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ") + "; without servers, in a collective job, sync"
}

// Parse parses the arguments of the set that the flags are registered with, and refuses what is no flag.
func (c *Flags) Parse(args []string) error {
	if err := c.fs.Parse(args); err != nil {
		return err
	}
	if c.fs.NArg() > 0 {
		return fmt.Errorf("%q is no flag; -h lists them", c.fs.Arg(0))
	}
	if c.Epochs < 1 || c.Batch < c.leastBatch {
		return fmt.Errorf("-epochs=%d -batch=%d: epochs count from 1, a batch from %d", c.Epochs, c.Batch, c.leastBatch)
	}
	if c.Threads < 1 {
		return fmt.Errorf("-threads=%d: they count from 1", c.Threads)
	}
	_, err := c.Strategy()
	return err
}

// Strategy is the preset of the mode with what other flags amend.
func (c *Flags) Strategy() (strategy.Strategy, error) {
	s, err := strategy.Strategy{}, error(nil)
	if c.Mode != "" {
		s, err = strategy.Factory(c.Mode)
	}
	if err != nil {
		return s, fmt.Errorf("-mode=%s: %w", c.Mode, err)
	}
	s.Placement, s.Codec, s.Payload = c.placement, c.codec, strategy.Payload(c.payload)
	s.Recovery = c.recovery()
	if c.kSteps != 0 {
		if err := amend(&s, fmt.Sprintf(`{"k_steps": %d}`, c.kSteps)); err != nil {
			return s, fmt.Errorf("-k_steps=%d: %w", c.kSteps, err)
		}
	}
	if c.amend != "" {
		if err := amend(&s, c.amend); err != nil {
			return s, fmt.Errorf("-strategy=%s: %w", c.amend, err)
		}
	}
	return s, s.Validate()
}

// recovery is what -checkpoint says.
func (c *Flags) recovery() strategy.Recovery {
	r := strategy.Recovery{Dir: c.Checkpoint, Every: strategy.Duration(c.checkpointEvery)}
	if r.Dir != "" && r.Every == 0 {
		r.Every = strategy.Duration(time.Minute)
	}
	if r.JournalDir = c.journal; r.JournalDir != "" {
		r.Journal = strategy.JournalProcess
	}
	return r
}

func amend(s *strategy.Strategy, fields string) error {
	if err := json.Unmarshal([]byte(fields), s); err != nil {
		return err
	}
	return s.Validate()
}

// Rule is Adam with the rate of -lr, or adam if there is none; in geo mode, which adds up steps of SGD, SGD with that rate or sgd.
func (c *Flags) Rule(adam, sgd float64) optimizer.Rule {
	if strategy.Mode(c.Mode) == strategy.ModeGeo {
		return optimizer.SGD{LR: c.rate(sgd)}
	}
	return optimizer.Adam{LR: c.rate(adam)}
}

func (c *Flags) rate(otherwise float64) float64 {
	if c.LR != 0 {
		return c.LR
	}
	return otherwise
}
