package cut

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/wire"
)

// Period is the end of a period that was committed last, for a process that takes this one's place: workers that did
// not get the answer ask again.
type Period struct {
	How   wire.Shrink `json:"how"`
	Dir   string      `json:"dir,omitempty"` // of the checkpoint that was saved with it
	Step  int64       `json:"step"`
	Freed wire.Freed  `json:"freed,omitzero"`
	Told  []int       `json:"told"`
	ID    string      `json:"id"`
	Name  string      `json:"name,omitempty"`
	Ended int         `json:"ended,omitempty"` // periods, with this one
}

// Period is that; nil if no period has ended.
func (m *Machine) Period() *Period {
	p := m.period
	if p == nil {
		return nil
	}
	return &Period{How: *p.shrink, Dir: p.dir, Step: p.step, Freed: p.freed, Told: slices.Clone(p.told), ID: p.id,
		Name: p.period, Ended: m.ended}
}

// Recall has the end of a period that another process has seen; nil is none.
func (m *Machine) Recall(p *Period) {
	if p == nil {
		return
	}
	s := &save{id: p.ID, shrink: &p.How, dir: p.Dir, period: p.Name, state: committed, step: p.Step, freed: p.Freed,
		told: p.Told}
	if len(p.Told) > 0 {
		s.worker = p.Told[0]
	}
	// another worker was told of it
	m.order = append(slices.DeleteFunc(m.order, func(o *save) bool { return o.id == s.id }), s)
	m.saves[s.id], m.period, m.ended = s, s, p.Ended
}

// name names the period that a save ends, on server 0, unless its worker knows the name from a cut that failed: for
// workers that end one in the same way at the same step it is one name. A server that has ended the period of a name in
// the cut of one worker, which another server knows nothing of since it was started again, does not end it anew in the
// cut of another.
func (m *Machine) name(s *save, step int64) {
	if s.shrink == nil || s.period != "" {
		return
	}
	how, parts := s.shrink, []string{"period"}
	for _, n := range []uint64{uint64(m.ended + 1), uint64(step),
		math.Float64bits(how.Decay), math.Float64bits(how.MinScore), uint64(how.Unseen)} {
		parts = append(parts, strconv.FormatUint(n, 36))
	}
	s.period = strings.Join(parts, "-")
}

// periodEnded takes note that the period of a save has ended on all servers. It may be the last one still, of which
// another worker is told.
func (m *Machine) periodEnded(s *save) {
	s.told = []int{s.worker}
	if last := m.period; last != nil && last.period == s.period {
		s.told = append(s.told, last.told...)
	} else {
		m.ended++
	}
	m.period = s
	m.Outdated() // it has rows that were dropped
}

// Ended says, on server 0, that the period for whose end a cut was kept is over on all servers, which was at that
// update. The cut is over too. It may be said twice.
func (m *Machine) Ended(id string, step int64, freed wire.Freed) error {
	s := m.saves[id]
	if s != nil && s.state == committed {
		return nil
	}
	if err := m.Kept(id); err != nil {
		return err
	}
	m.drop(s)
	s.state, s.step, s.freed = committed, step, freed
	m.periodEnded(s)
	return nil
}

// Outdated says that no save before has all that a server would save now, though no update was made since.
func (m *Machine) Outdated() {
	for _, s := range m.order {
		if s.shrink == nil {
			s.step = noStep
		}
	}
}
