package optimizer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

func TestCheckCounts(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		show, click []float32
		says        string // empty: fine
	}{
		{nil, nil, ""},
		{[]float32{3, 0}, nil, ""},
		{nil, []float32{0, 0.5}, ""},
		{[]float32{1}, nil, `1 numbers of shows for 2 rows of "emb"`},
		{nil, []float32{}, "0 numbers of clicks"},
		{[]float32{1, -1}, nil, `row 9 of "emb" has -1 shows`},
		{[]float32{1, 1}, []float32{nan, 0}, "row 7 of \"emb\" has NaN clicks"},
		{[]float32{float32(math.Inf(1)), 1}, nil, "has +Inf shows"},
	} {
		r := optimizer.Rows{Param: &optimizer.Param{Name: "emb"}, IDs: []uint64{7, 9}, Show: tt.show, Click: tt.click}
		err := r.CheckCounts()
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("shows %v clicks %v: error %v, want %q", tt.show, tt.click, err, tt.says)
		}
	}
}
