package replica

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// merger merges the rows of all workers, by embedding.
type merger struct {
	params travelling
	weigh  strategy.Weighting
	folder []gradient.Folder
	out    []optimizer.Rows
	buffer []byte   // this worker's rows, encoded
	all    [][]byte // every worker's
}

func newMerger(params []*optimizer.Param, weigh strategy.Weighting) merger {
	m := merger{weigh: weigh}
	for _, p := range params {
		if p.Embedding {
			m.params, m.out = append(m.params, p), append(m.out, optimizer.Rows{Param: p})
		}
	}
	m.folder = make([]gradient.Folder, len(m.params))
	return m
}

func (m *merger) any() bool { return len(m.params) > 0 }

// merge gathers rows and returns them summed by id, in the order of ranks, each worker's with its factor. The result is
// valid until the next call.
func (m *merger) merge(ctx context.Context, g *collective.Group, p collective.Part,
	rows []gradient.Rows) ([]optimizer.Rows, error) {
	m.buffer = m.params.append(m.buffer[:0], p, rows)
	if m.all == nil {
		m.all = make([][]byte, g.Ranks())
	}
	if err := g.AllGatherInto(ctx, m.buffer, m.all); err != nil {
		return nil, err
	}
	var samples []int
	var members [][]gradient.Rows // by member of the step, then by embedding
	for rank, data := range m.all {
		n, rows, err := m.params.parse(data)
		if err != nil {
			return nil, fmt.Errorf("replica: rows of worker %d: %w", rank, err)
		}
		if n >= 0 {
			samples, members = append(samples, n), append(members, rows)
		}
	}
	factors := gradient.Factors(nil, m.weigh, samples)
	for e, param := range m.params {
		column := make([]gradient.Rows, len(members))
		for i := range members {
			column[i] = members[i][e]
		}
		m.folder[e].Fold(param, column, factors, m.weigh).Into(&m.out[e])
	}
	return m.out, nil
}
