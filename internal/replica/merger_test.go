package replica

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func embeddings() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "a", Shape: []int{0, 3}, Embedding: true}, {Name: "w", Shape: []int{2}},
		{Name: "b", Shape: []int{10, 1}, Embedding: true},
	}
}

func TestRowsTravel(t *testing.T) {
	params := embeddings()
	m := newMerger(params, strategy.WeightSamples)
	rows := []gradient.Rows{
		{IDs: []uint64{1, 1 << 63}, G: []float32{1, 2, 3, 4, 5, 6}},
		{IDs: []uint64{9}, G: []float32{-1}},
	}
	n, got, err := m.params.parse(m.params.append(nil, collective.Part{Weight: 7}, rows))
	if err != nil || n != 7 || len(got) != 2 {
		t.Fatalf("weight %d, %d embeddings, error %v", n, len(got), err)
	}
	for e := range rows {
		if !slices.Equal(got[e].IDs, rows[e].IDs) || !slices.Equal(got[e].G, rows[e].G) {
			t.Errorf("embedding %d: %+v, want %+v", e, got[e], rows[e])
		}
	}
	if n, _, err := m.params.parse(m.params.append(nil, collective.Part{Ended: true}, nil)); n >= 0 || err != nil {
		t.Errorf("one that ended has weight %d, error %v", n, err)
	}
}

func FuzzRows(f *testing.F) {
	m := newMerger(embeddings(), strategy.WeightSamples)
	f.Add(m.params.append(nil, collective.Part{Weight: 3}, make([]gradient.Rows, 2)))
	f.Add(append(make([]byte, 8), 255, 255, 255, 255, 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rows, err := m.params.parse(b)
		if err != nil || n < 0 {
			return
		}
		for e, r := range rows {
			if len(r.G) != len(r.IDs)*m.params[e].Dim() {
				t.Errorf("%d floats for %d rows", len(r.G), len(r.IDs))
			}
		}
	})
}
