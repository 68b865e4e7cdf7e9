package train

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/runs"
)

// told are hooks that write run.json with the first evaluation of a process, beside the history that it is about: until
// then both are an earlier job's.
func (j *Job) told() Hooks {
	written := false
	return Hooks{Evaluated: func(_ context.Context, r *Run, _ Evaluation) error {
		if written || !r.Leads() {
			return nil
		}
		written = true
		return j.about(r.Fleet).Write(j.Out)
	}}
}

// about is what a job says of itself in run.json, for who compares jobs: with the flags of the whole program, where the
// package has parsed them, or with its own.
func (j *Job) about(f *fleet.Fleet) runs.About {
	a := runs.About{Program: filepath.Base(os.Args[0]), Servers: f.ServerNum(), Workers: f.WorkerNum(),
		Flags: map[string]string{}, Falling: []string{TrainLoss, EvalLoss}}
	for _, n := range j.Metrics {
		if n.Falls() {
			a.Falling = append(a.Falling, testName(n))
		}
	}
	set := flag.CommandLine
	if !j.parsed {
		own := j.Options
		set = flag.NewFlagSet("", flag.ContinueOnError)
		own.Register(set)
	}
	set.VisitAll(func(f *flag.Flag) {
		if !runs.Secret(f.Name) {
			a.Flags[f.Name] = f.Value.String()
		}
	})
	return a
}
