package replica

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/strategy"
)

func TestClicksTravel(t *testing.T) {
	params := embeddings()
	params[0].Entry.ShowClick.Threshold = 1
	m := newMerger(params, strategy.WeightSamples)
	rows := []gradient.Rows{{IDs: []uint64{1, 5}, G: []float32{1, 2, 3, 4, 5, 6}, Clicks: []float32{3, 2, 1, 0}}, {}}
	data := m.params.append(nil, collective.Part{Weight: 7}, rows)
	_, got, err := m.params.parse(data)
	if err != nil || !slices.Equal(got[0].Clicks, []float32{3, 2, 1, 0}) || got[1].Clicks != nil {
		t.Fatalf("counts %v and %v, error %v", got[0].Clicks, got[1].Clicks, err)
	}
	for cut := range data {
		if _, _, err := m.params.parse(data[:cut]); err == nil {
			t.Errorf("%d bytes of %d were taken", cut, len(data))
		}
	}
	rows[0].Clicks = nil
	if _, got, err := m.params.parse(m.params.append(nil, collective.Part{Weight: 7}, rows)); err != nil || got[0].Clicks != nil {
		t.Errorf("counts %v of nothing said, error %v", got[0].Clicks, err)
	}
}
