package inference

import (
	"fmt"
	"log/slog"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/table"
)

// A job that resumes from a checkpoint does not know which models for serving were saved after it. A delta of the
// checkpoint's chain, beside other deltas of the same chain, would leave readers with rows that no later delta
// corrects. So a delta is saved only if the newest published model is the end of the chain; else it is refused, and a
// base is needed.

// published holds the models for serving in a directory, and up to two levels below; dir is empty if it is not known.
type published struct {
	dir string
	all []modelfiles.Published
}

func find(dir string) (p published, err error) {
	if p.dir = dir; dir != "" {
		p.all, err = modelfiles.FindPublished(dir, 3)
	}
	for _, m := range p.all {
		if m.Damaged != nil {
			slog.Warn("a published model is damaged, and its number is not known: remove it", "error", m.Damaged)
		}
	}
	return p, err
}

// newest returns the highest number of a model; 0 if there is none.
func (p published) newest() (serial int) {
	for _, m := range p.all {
		serial = max(serial, m.Serial)
	}
	return serial
}

// endsWith returns an error if the last model of a chain may not be the newest.
func (p published) endsWith(c table.Chain) error {
	if p.dir == "" {
		return fmt.Errorf("%w: the job goes on from a checkpoint, or a save was broken off, and others may have been "+
			"saved behind %s: save a base, and name the directory of all that is published in SaveOptions.Published "+
			"from then on", backend.ErrNoBase, c.Last)
	}
	base, last := false, false
	for _, m := range p.all {
		if m.Damaged != nil {
			return fmt.Errorf("%w: it may be the newest: %w", backend.ErrNoBase, m.Damaged)
		}
		base, last = base || m.Sum == c.Base, last || m.Sum == c.Last
		if m.Sum != c.Last && m.Serial >= c.Serial {
			return fmt.Errorf(
				"%w: %s, number %d of generation %q, was saved behind %s, number %d, with which this job "+
					"goes on: save a base", backend.ErrNoBase, m.Dir, m.Serial, m.Generation, c.Last, c.Serial)
		}
	}
	if !base || !last {
		return fmt.Errorf("%w: %s lacks base %s, or its last delta %s, with which this job goes on: others may have "+
			"been saved elsewhere: save a base", backend.ErrNoBase, p.dir, c.Base, c.Last)
	}
	return nil
}
