package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// A checkpoint also holds which rows models for serving have, so that a job that resumes saves the next delta as if it
// had not stopped: each row's delta score if shows and clicks are counted and, once a base was saved, two flags a row
// and the ids of dropped rows.

// servings reads a part's chain of saved models, on which all parts must agree, and the ids of dropped rows that these
// models have.
func (l *loader) servings(f *safetensors.File, c contents) error {
	c.Chain = c.Chain.Doubted() // other models may have been saved after the checkpoint
	if l.chained && c.Chain != l.chain {
		c.Chain = table.Chain{} // a save ended between two servers: the next must be a base
	}
	l.chain, l.chained = c.Chain, true
	for _, t := range c.Tables {
		to, _ := l.find(t.Param)
		if to == nil || t.Gone == 0 || !l.takes(t.Param) {
			continue
		}
		ids, err := safetensors.Read[uint64](f, t.gone())
		if err == nil && len(ids) != t.Gone {
			err = fmt.Errorf("%s has %d ids, its part says %d: %w", t.gone(), len(ids), t.Gone, ErrDamaged)
		}
		if err != nil {
			return err
		}
		to.Gone(ids)
	}
	return nil
}
