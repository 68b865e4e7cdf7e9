// Package checkpoints inspects a directory of automatic checkpoints (strategy.Recovery) from outside the job, for
// programs that choose a checkpoint to begin from, and tools that keep one for later.
//
//	last, err := checkpoints.Latest("ckpt")
//	switch {
//	case errors.Is(err, checkpoints.ErrNone): // nothing was saved yet
//	case err == nil:
//		fmt.Println(last.Dir, "has", last.Step, "updates, in epoch", last.Progress.Epoch)
//	}
//
// A restarted job finds its newest checkpoint automatically. [fleet.Fleet.Restore] begins another job from [Info].Dir,
// and fleet.Fleet.Checkpoint saves a checkpoint immediately.
package checkpoints

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

// Info describes a checkpoint.
type Info struct {
	// Dir is the checkpoint's directory, for Restore. With Recovery.Deltas it may depend on other checkpoints in the
	// same directory; fleetrun inspect lists them.
	Dir string
	// Step is the number of updates in it.
	Step int64
	// Progress is how far the job was, and Positions where each worker goes on in its data, which may be in an earlier
	// epoch.
	Progress  fleet.Progress
	Positions []fleet.Position
	// Over says that a job with servers has finished all its work with this checkpoint.
	Over bool
}

// ErrNone is the error for a directory without a complete checkpoint. Errors of package fleet about that wrap it too.
var ErrNone = checkpoint.ErrNone

// Latest returns the newest complete checkpoint in the directory of a Recovery: the one from which a job would resume,
// if the checksums of its files are right. The error is [ErrNone] if there is none.
func Latest(dir string) (Info, error) {
	newest, m, err := checkpoint.Latest(dir)
	if err != nil {
		return Info{}, fmt.Errorf("checkpoints: Latest: %w", err)
	}
	c := Info{Dir: newest, Step: m.Step, Over: checkpoint.Over(dir, m)}
	if m.Progress != nil {
		c.Progress = fleet.Progress{Epoch: m.Progress.Epoch, User: m.Progress.User}
	}
	for w, at := range m.Positions {
		p := fleet.Position{Epoch: m.First(w, len(m.Positions), true)} // unless a sample of the epoch was trained
		if epoch, samples := progress.Sum(at); epoch >= p.Epoch {
			p = fleet.Position{Epoch: epoch, Samples: int(min(samples, math.MaxInt))}
		}
		c.Positions = append(c.Positions, p)
	}
	return c, nil
}

// Pin keeps a checkpoint regardless of Recovery.Keep, and without counting towards it: for example one that went to
// production. It must be complete. "fleetrun pin DIR" does the same.
func Pin(dir string) error { return named("Pin", checkpoint.Pin(dir)) }

// Unpin removes the pin: the job's next checkpoint may remove this one.
func Unpin(dir string) error { return named("Unpin", checkpoint.Unpin(dir)) }

func named(call string, err error) error {
	if err != nil {
		return fmt.Errorf("checkpoints: %s: %w", call, err)
	}
	return nil
}
