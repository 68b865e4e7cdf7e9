// Package jobtest runs example programs on clusters in tests.
package jobtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// Modes are the modes that this run of tests trains in.
func Modes(t *testing.T) []strategy.Mode {
	t.Helper()
	return law.Some(t, strategy.Modes())
}

// Kind is a job of one process, or of servers and workers, with the flags that make it so.
type Kind struct {
	Name             string
	Servers, Workers int
	Args             []string
}

// Kinds are the kinds of three that this run of tests trains: one process alone, and two servers with two workers in
// async and in sync, in batches of so many.
func Kinds(t *testing.T, batch int) []Kind {
	t.Helper()
	small := fmt.Sprint("-batch=", batch)
	return law.Some(t, []Kind{{"local", 0, 1, nil}, {"async", 2, 2, []string{"-mode=async", small}},
		{"sync", 2, 2, []string{"-mode=sync", small}}})
}

// InEachMode are one process alone and, in each mode, two servers with two workers, with these flags.
func InEachMode(alone, among []string, inGeo ...string) []Kind {
	kinds := []Kind{{"local", 0, 1, alone}}
	for _, m := range strategy.Modes() {
		kinds = append(kinds, Kind{string(m), 2, 2, append(ModeArgs(m, inGeo...), among...)})
	}
	return kinds
}

// ModeArgs are the flags that choose a mode, with others that it needs in geo, where workers train by plain gradient
// descent and meet seldom.
func ModeArgs(mode strategy.Mode, inGeo ...string) []string {
	args := []string{"-mode=" + string(mode)}
	if mode == strategy.ModeGeo {
		args = append(args, inGeo...)
	}
	return args
}

// Program is an example's: it defines its flags, and makes its job of them.
type Program = func(fs *flag.FlagSet) (*train.Options, func() (train.Job, error))

// Job is what an example makes of a command line.
func Job(program Program, args ...string) (train.Job, error) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o, job := program(fs)
	o.Register(fs)
	if err := errors.Join(fs.Parse(args), o.Check()); err != nil {
		return train.Job{}, err
	}
	return job()
}

// Sharing is a program whose jobs all train and test on the rows that its job of these arguments has: they are read, or
// made, once for all workers.
func Sharing(t *testing.T, program Program, args ...string) Program {
	t.Helper()
	j, err := Job(program, args...)
	law.Check(t, err)
	learn, test, err := j.Data(t.Context())
	law.Check(t, err)
	return func(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
		o, job := program(fs)
		return o, func() (train.Job, error) {
			j, err := job()
			j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return learn, test, nil }
			return j, err
		}
	}
}

// Run runs an example with these arguments on that many servers and workers (no servers: alone), and gives what it came
// to and said on worker 0. An error of any role fails t. With -short the test is skipped.
func Run(t *testing.T, servers, workers int, program Program, args ...string) (first train.Result, said string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it trains an example's job, and -short is given")
	}
	var mu sync.Mutex
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		var out bytes.Buffer
		j, err := Job(program, args...)
		if err != nil {
			return err
		}
		j.Stdout = &out
		got, err := j.Run(ctx, f)
		if f.IsFirstWorker() {
			mu.Lock()
			defer mu.Unlock()
			first, said = got, out.String()
		}
		return err
	})
	return first, said
}
