package optimizer

import (
	"errors"
	"fmt"
)

// Evict lets an embedding with a bound, by MaxBytes or max_memory of the strategy, drop its least useful rows, so that
// new ids find room. When a process has 95 % of the rows that fit, all drop rows between two steps until 85 % are left,
// without ending a period; a dropped id begins anew. Ids that need a row before are turned away and counted. The zero
// value drops none. A checkpoint of more rows than fit is loaded whole, and then rows are dropped; the process keeps
// their memory until it ends.
//
// When rows are dropped depends on time, so two runs that come to the bound are not bit for bit the same. Modes that
// keep a copy of each row on every worker, geo and collective, have no MaxBytes.
type Evict struct {
	// By is [EvictScore] or [EvictUnused].
	By string `json:"by"`
	// Floor keeps the rows that were pushed in the last so many updates of their server, such as new ones whose score
	// is low. It must be 0 under a rule that moves every row in every step.
	Floor int64 `json:"floor,omitempty"`
}

// What rows are dropped first: those with the lowest score of shows and clicks, for which Entry.ShowClick is needed, or
// those not used for the longest time, by period and then by update.
const (
	EvictScore  = "score"
	EvictUnused = "unused"
)

// check returns what is wrong with it for a param.
func (e Evict) check(p *Param) error {
	switch {
	case e == Evict{}:
		return nil
	case e.By != EvictScore && e.By != EvictUnused:
		return fmt.Errorf("Evict.By is %q; want %q or %q", e.By, EvictScore, EvictUnused)
	case e.By == EvictScore && p.Entry.ShowClick == ShowClick{}:
		return errors.New("Evict by score needs the shows and clicks of Entry.ShowClick")
	case e.Floor < 0:
		return fmt.Errorf("Evict.Floor is %d: it counts updates", e.Floor)
	}
	return nil
}
