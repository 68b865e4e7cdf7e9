package gradient

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/optimizer"
)

func TestClicksThereAndBack(t *testing.T) {
	for _, tt := range []struct{ show, click, want []float32 }{
		{nil, nil, []float32{1, 0, 1, 0}},
		{[]float32{3, 4}, nil, []float32{3, 0, 4, 0}},
		{nil, []float32{0, 2}, []float32{1, 0, 1, 2}},
		{[]float32{5, 6}, []float32{7, 8}, []float32{5, 7, 6, 8}},
	} {
		rows := optimizer.Rows{IDs: []uint64{1, 2}, Show: tt.show, Click: tt.click}
		got := appendPairs(nil, &rows)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("shows %v, clicks %v: %s", tt.show, tt.click, diff)
		}
		var back optimizer.Rows
		Rows{IDs: rows.IDs, Clicks: got}.Into(&back)
		if diff := cmp.Diff(tt.want, appendPairs(nil, &back)); diff != "" {
			t.Errorf("shows %v, clicks %v, there and back: %s", tt.show, tt.click, diff)
		}
	}
}
