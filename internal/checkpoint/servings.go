package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// What models for serving have of a table is kept too, so that a job which goes on from a checkpoint saves the next
// delta as if nothing had happened: each row's delta score where shows and clicks are counted, and, once a base was
// saved, two flags a row and the ids of dropped rows.

// servings reads what a part knows of models for serving beside its rows: which they are, as all parts must say, and
// what they have of dropped rows.
func (l *loader) servings(f *safetensors.File, c contents) error {
	c.Chain = c.Chain.Doubted() // others may have been saved behind the checkpoint
	if l.chained && c.Chain != l.chain {
		c.Chain = table.Chain{} // a save was broken off between two servers: the next must be a base
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
