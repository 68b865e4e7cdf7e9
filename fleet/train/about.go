package train

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/runs"
)

// told returns hooks that write run.json with each evaluation, beside the history that it belongs to: before the first
// one both are those of an earlier job.
func (j *Job) told() Hooks {
	return beside(files.Join(j.Out, runs.File), func(r *Run) error {
		a := j.about(r.Fleet)
		a.Signature = r.shares.signature
		if c := r.tests.constant; c != nil {
			a.Labels = c.all
		}
		return a.Write(j.Out)
	})
}

// about is the description of a job in run.json, for comparisons of jobs: with the flags of the whole program if the
// package has parsed them, else with the job's own.
func (j *Job) about(f *fleet.Fleet) runs.About {
	a := runs.About{Program: filepath.Base(os.Args[0]), Servers: f.ServerNum(), Workers: f.WorkerNum(),
		Flags: map[string]string{}, Falling: []string{TrainLoss, EvalLoss}}
	for _, n := range j.Metrics {
		if n.Falls() {
			a.Falling = append(a.Falling, testName(n), trainName(n))
		}
	}
	set := flag.CommandLine
	if !j.parsed {
		own := j.Options
		set = flag.NewFlagSet("", flag.ContinueOnError)
		own.Register(set)
	}
	fitted := map[string]int{"batch": j.Batch, "epochs": j.Epochs, "patience": j.Patience}
	set.VisitAll(func(f *flag.Flag) {
		if v, is := fitted[f.Name]; is && f.Value.String() == "0" {
			a.Flags[f.Name] = fmt.Sprint(v)
		} else if !runs.Secret(f.Name) {
			a.Flags[f.Name] = f.Value.String()
		}
	})
	return a
}
