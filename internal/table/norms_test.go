package table

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestNorms: counts, medians and largest norms of rows and gradients are those of a row's first push and of each 64th later; one that is 0
// is none.
func TestNorms(t *testing.T) {
	p := embedding(0, 2)
	p.Init = optimizer.Constant{}
	table := newSparse(t, p, optimizer.SGD{LR: 1})
	push := func(id uint64, x float32) {
		_, err := table.Push([]uint64{id}, []float32{-3 * x, -4 * x}, 1)
		check(t, err)
	}
	for id := range uint64(301) {
		push(id, float32(id)) // a gradient of norm 5·id; row 0 stays 0
	}
	for range 63 {
		push(7, 1000) // of which none is looked at
	}
	rows, gradients := table.Norms()
	for _, n := range []Norms{rows, gradients} {
		if n.Seen != 300 || n.Largest != 1500 || n.ID != 300 || n.Median < 750/math.Sqrt2 || n.Median > 750*math.Sqrt2 {
			t.Errorf("%+v, want 300 up to 1500 of row 300", n)
		}
	}
	push(7, 2)
	if rows, gradients = table.Norms(); rows.Seen != 301 || rows.ID != 7 || rows.Largest != 5*63009 || gradients.Largest != 1500 {
		t.Errorf("%+v and %+v, want row 7 of 315045", rows, gradients)
	}
}

// TestOutliers: a row of a thousand times the median is logged once, also if it came before others, and one that is ten times as large as
// it; usual ones are not.
func TestOutliers(t *testing.T) {
	for name, c := range map[string]struct {
		push func(i int) (id uint64, x float32)
		want []string
	}{
		"usual":      {func(i int) (uint64, float32) { return uint64(i), 1 + float32(i%300) }, nil},
		"few":        {func(i int) (uint64, float32) { return uint64(i % 600), map[int]float32{5: 5000}[i] + 1 }, nil},
		"at the end": {func(i int) (uint64, float32) { return uint64(i), []float32{1, 5000}[max(i, 3998)-3998] }, []string{"id=3999 norm=25000"}},
		"at first":   {func(i int) (uint64, float32) { return uint64(i), []float32{5000, 1}[min(i, 1)] }, []string{"id=0 norm=25000"}},
		"two": {func(i int) (uint64, float32) {
			return uint64(i), map[int]float32{2000: 5000, 2500: 6000, 3000: 60000}[i] + 1
		},
			[]string{"id=2000 norm=25005", "id=3000 norm=300005"}},
	} {
		var said bytes.Buffer
		p := embedding(0, 2)
		p.Init = optimizer.Constant{}
		table := newSparse(t, p, optimizer.SGD{LR: 1})
		table.filling.log = slog.New(slog.NewTextHandler(&said, nil))
		for i := range 4000 {
			id, x := c.push(i)
			_, err := table.Push([]uint64{id}, []float32{-3 * x, -4 * x}, 1)
			check(t, err)
		}
		if lines := strings.Count(said.String(), "a thousand times as large"); lines != len(c.want) {
			t.Errorf("%s: %d lines, want %d:\n%s", name, lines, len(c.want), said.String())
		}
		for _, want := range c.want {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, said.String())
			}
		}
	}
}
