package table

import (
	"fmt"
	"math/rand/v2"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// kind is what all rows of a table have in common: their memory layout, their initial values, and the rule that updates
// them. It does not find rows; shards, images and files use it to read and to write them.
type kind struct {
	layout
	param  *optimizer.Param
	rule   optimizer.Rule
	sweeps bool
	// rester is nil if the rule has no rest.
	rester interface{ Rests(w, state []float32) bool }
	steps  *progress // of the store's updates; nil for a table without a store, whose updates follow each other
	seed   uint64    // of the hash, so that nobody can choose ids that collide
}

func newKind(p *optimizer.Param, rule optimizer.Rule, numbered bool) kind {
	k := kind{layout: newLayout(p.Dim(), stateLen(rule, p.Dim()), marked(p.Entry), numbered), param: p, rule: rule,
		sweeps: rules.Sweeps(rule), seed: rand.Uint64()}
	k.rester, _ = rule.(interface{ Rests(w, state []float32) bool })
	return k
}

// stateLen is the number of state values that a rule, nil for none, keeps for n weights.
func stateLen(rule optimizer.Rule, n int) int {
	if rule == nil {
		return 0
	}
	return rule.StateLen(n)
}

// Param is the embedding that the table holds.
func (k *kind) Param() *optimizer.Param { return k.param }

// Rule is the rule that updates the rows.
func (k *kind) Rule() optimizer.Rule { return k.rule }

// Rated reports whether rows count shows and clicks.
func (k *kind) Rated() bool { return k.marked }

// hash is the hash of an id in the index of its shard.
func (k *kind) hash(id uint64) uint32 { return uint32(mix(id ^ k.seed)) }

// missing sets w to the values that are read for a row that does not exist.
func (k *kind) missing(w []float32, id uint64) {
	if k.param.Height() > 0 {
		k.param.InitRow(w, id)
	} else {
		clear(w)
	}
}

// initState sets a row's state to the rule's initial state.
func (k *kind) initState(h *header) { k.initSlots(k.slots(h)) }

func (k *kind) initSlots(slots []float32) {
	if k.state > 0 {
		rules.InitState(k.rule, slots)
	}
}

// stepped notes that the update number step has changed a row. Under a rule that sweeps, concurrent updates may reach
// the row in any order: so stepped counts them, and replay adds the missing steps of finished updates.
func (k *kind) stepped(h *header, step int64) {
	if k.sweeps && k.steps != nil {
		h.step++
		return
	}
	h.step = max(h.step, step)
}

// replay applies the steps that a row missed, each an update with a zero gradient: the effect of a rule that moves rows
// in every step (Adam with Dense), if the table had swept over all rows each time. Sweeping a table of millions of rows
// in each step would take too long, and is not needed: a row is brought up to date when it is read, pushed or saved. If
// the rule reports that a row has come to rest, the loop ends.
func (k *kind) replay(c *call, h *header, upTo int64) {
	k.miss(c, k.weights(h), k.slots(h), h.step, upTo)
	h.step = max(h.step, upTo)
}

// miss applies the steps after behind, up to upTo, to weights that missed them.
func (k *kind) miss(c *call, w, slots []float32, behind, upTo int64) {
	for step := behind + 1; step <= upTo; step++ {
		if k.rester != nil && k.rester.Rests(w, slots) {
			break
		}
		s := &c.past[step&63]
		s.Step, s.Row = step, true
		s.SetRateFactor(k.steps.factorAt(step))
		k.rule.Update(w, c.zeros, slots, s)
	}
}

// counted adds shows and clicks to a row's.
func (k *kind) counted(h *header, m marks) {
	k.marks(h).add(m)
	*k.delta(h) += float32(k.rate(m))
}

// lets reports whether the counts of a waiting id are enough for a row.
func (k *kind) lets(w waiter) bool {
	if !k.marked {
		return int(w.pushes) >= k.param.Entry.CountFilter
	}
	return k.rate(w.marks) >= k.param.Entry.ShowClick.Threshold
}

// rate is the score of shows and clicks.
func (k *kind) rate(m marks) float64 { return k.param.Entry.ShowClick.Score(m.show, m.click) }

func (k *kind) notNumbered() error {
	return fmt.Errorf("table: the rows of %q are not Numbered, as its Options could say", k.param.Name)
}

func (k *kind) full(id uint64) error {
	return fmt.Errorf("%w: %q has no room for row %d within %d bytes, at %d bytes a row: raise its MaxBytes or "+
		"max_memory, start more servers, or shrink the table", ErrFull, k.param.Name, id, k.param.MaxBytes,
		4*k.stride+indexBytes)
}

// restorable returns why a row can't be one of this table.
func (k *kind) restorable(r *Row) error {
	if len(r.W) != k.dim || len(r.State) != k.state && len(r.State) != 0 {
		return fmt.Errorf("%w: restore of row %d of %q: %d weights and %d of state, need %d and %d", ErrShape, r.ID,
			k.param.Name,
			len(r.W), len(r.State), k.dim, k.state)
	}
	if height := k.param.Height(); height > 0 && r.ID >= uint64(height) {
		return fmt.Errorf("%w: restore of %q: id %d, the height is %d", ErrID, k.param.Name, r.ID, height)
	}
	if r.Step < 0 {
		return fmt.Errorf("table: restore of row %d of %q: its step is %d", r.ID, k.param.Name, r.Step)
	}
	if !countable(r.Show) || !countable(r.Click) || r.Delta != r.Delta {
		return fmt.Errorf("table: restore of row %d of %q: its counts are %v shows and %v clicks, its delta score %v",
			r.ID, k.param.Name, r.Show, r.Click, r.Delta)
	}
	return nil
}
