package cut

import (
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Period is the end of a period that was committed last, for a process that takes this one's place: workers that did not get the answer ask
// again.
type Period struct {
	How   wire.Shrink `json:"how"`
	Step  int64       `json:"step"`
	Freed wire.Freed  `json:"freed,omitzero"`
	Told  []int       `json:"told"`
	ID    string      `json:"id"`
}

// Period is that; nil if no period has ended.
func (m *Machine) Period() *Period {
	p := m.period
	if p == nil {
		return nil
	}
	return &Period{How: *p.shrink, Step: p.step, Freed: p.freed, Told: slices.Clone(p.told), ID: p.id}
}

// Recall has the end of a period that another process has seen; nil is none.
func (m *Machine) Recall(p *Period) {
	if p == nil {
		return
	}
	s := &save{id: p.ID, shrink: &p.How, state: committed, step: p.Step, freed: p.Freed, told: p.Told}
	if len(p.Told) > 0 {
		s.worker = p.Told[0]
	}
	m.saves[s.id], m.order, m.period = s, append(m.order, s), s
}
