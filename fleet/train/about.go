package train

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/runs"
)

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
