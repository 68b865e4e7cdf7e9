// Package checkpoints looks at a directory into which a job saves by itself (strategy.Recovery), from outside the job:
// a program that decides what to begin from, or a tool that keeps one for later.
//
//	last, err := checkpoints.Latest("ckpt")
//	switch {
//	case errors.Is(err, checkpoints.ErrNone): // nothing was saved yet
//	case err == nil:
//		fmt.Println(last.Dir, "has", last.Step, "updates, in epoch", last.Progress.Epoch)
//	}
//
// A job that is started again looks by itself. [fleet.Fleet.Restore] begins another job from [Info].Dir, and
// fleet.Fleet.Checkpoint saves one at once.
package checkpoints

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

// Info is one of the checkpoints that a job has saved.
type Info struct {
	// Dir is its directory, which Restore takes. With Recovery.Deltas it may need others beside it: fleetrun inspect
	// says which.
	Dir string
	// Step is the number of updates in it.
	Step int64
	// Progress is how far the job was, and Positions each worker's in its data, by worker; none in checkpoints of
	// earlier versions.
	Progress  fleet.Progress
	Positions []fleet.Position
	// Over says that a job with servers has ended with it, all its work done.
	Over bool
}

// ErrNone says that a directory holds no whole checkpoint. Errors of package fleet that say so wrap it too.
var ErrNone = checkpoint.ErrNone

// Latest is the newest whole checkpoint in a Recovery's directory: the one that a job would go on from, if its files
// are what their checksums say. [ErrNone] says that there is none.
func Latest(dir string) (Info, error) {
	newest, m, err := checkpoint.Latest(dir)
	if err != nil {
		return Info{}, fmt.Errorf("checkpoints: Latest: %w", err)
	}
	c := Info{Dir: newest, Step: m.Step, Over: checkpoint.Over(dir, m)}
	if m.Progress != nil {
		c.Progress = fleet.Progress(*m.Progress)
	}
	for _, at := range m.Positions {
		p := fleet.Position{Epoch: c.Progress.Epoch} // unless a sample of it was trained
		if epoch, samples := progress.Sum(at); epoch >= p.Epoch {
			p = fleet.Position{Epoch: epoch, Samples: int(min(samples, math.MaxInt))}
		}
		c.Positions = append(c.Positions, p)
	}
	return c, nil
}

// Pin keeps a checkpoint whatever Recovery.Keep says, and it does not count for it: the one that a comparison begins
// from, or that went to production. It must be whole. "fleetrun pin DIR" does the same.
func Pin(dir string) error { return named("Pin", checkpoint.Pin(dir)) }

// Unpin removes the pin: the job's next checkpoint may remove this one.
func Unpin(dir string) error { return named("Unpin", checkpoint.Unpin(dir)) }

func named(call string, err error) error {
	if err != nil {
		return fmt.Errorf("checkpoints: %s: %w", call, err)
	}
	return nil
}
