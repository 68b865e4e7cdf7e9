package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

func main() {
	o, job := program(flag.CommandLine)
	days := flag.Int("make", 0, "in place of training, make so many days of a log")
	rows := flag.Int("rows", 30_000, "rows of each day that -make makes")
	o.Parse()
	if *days == 0 {
		train.Main(o, job)
	} else if err := makeLog("logs", *days, *rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func program(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
	o := &train.Options{Mode: "async", Seed: 1, Out: "output/online", Checkpoint: "output/online/checkpoints"}
	logs := fs.String("logs", "logs", "directory of days, each complete with a file _SUCCESS in it")
	last := fs.String("last", "", "the last day; left out, the job waits for more")
	serving := fs.String("serving", "output/online/serving", "directory for what is published")
	return o, func() (train.Job, error) {
		net := newModel(o.Seed)
		return train.Job{
			Options: *o,
			Loss:    net.loss,
			Rule:    o.AdamOrSGD(5e-3, .1),
			Metrics: []*nn.Node{net.auc, net.grouped},
			Outputs: []*nn.Node{net.pred},
			Files:   train.Files{Format: format},
			Days: &train.Days{
				Dir: *logs, Last: *last, Wait: time.Hour, BadFiles: 2, SkipBad: 100,
				Shrink:  fleet.ShrinkOptions{Decay: .9, MinScore: .05, Unseen: 4},
				Publish: train.Publish{Dir: *serving, Deltas: 4},
			},
		}, nil
	}
}
