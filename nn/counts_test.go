package nn

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

var byClicks = optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 3}}

// counter is a keeper that remembers the shows and clicks of the last step.
type counter struct {
	*keeper
	ids         []uint64
	show, click []float32
}

func (c *counter) Open(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := c.keeper.Open(params)
	return &counting{s, c}, err
}

type counting struct {
	optimizer.Session
	c *counter
}

func (s *counting) Begin(ctx context.Context, step *optimizer.Step) error {
	r := &step.Rows[0]
	s.c.ids, s.c.show, s.c.click = slices.Clone(r.IDs), slices.Clone(r.Show), slices.Clone(r.Click)
	return s.Session.Begin(ctx, step)
}

// TestShowsAndClicksOfABatch: two lookups share a table; ids come twice in an example and in several; padding counts nothing.
func TestShowsAndClicksOfABatch(t *testing.T) {
	feeds := batchOf{
		"s": int64sOf([]int{4}, 5, 5, -1, 7), "s.offsets": int64sOf([]int{4}, 0, 3, 3, 4), // examples: 5 5 padding, none, 7
		"ids": int64sOf([]int{3, 2}, 7, 8, 5, 5, 8, 99), // 99 is padding
		"y":   int64sOf([]int{3, 1}, 1, 0, 1), "n": floats([]int{3, 1}, 10, 100, 1000),
	}
	// in order of 5, 7, 8
	times := []float32{4, 2, 2}
	for name, tt := range map[string]struct {
		show, click bool
		wantShow    []float32
		wantClick   []float32
	}{
		"label as click": {false, true, times, []float32{2, 2, 2}},
		"shows":          {true, false, []float32{220, 1010, 1010}, []float32{0, 0, 0}},
		"both":           {true, true, []float32{220, 1010, 1010}, []float32{2, 2, 2}},
		"neither":        {false, false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph(1)
			o := EmbeddingOptions{Name: "t", Dim: 2, Entry: byClicks, PaddingIdx: new(int64(-1))}
			y, n := g.IDs("y", 1), g.Input("n", 1)
			if tt.click {
				o.Click = y
			}
			if tt.show {
				o.Show = n
			}
			pooled := EmbeddingPool(g.Slot("s"), PoolSum, o)
			o.PaddingIdx = new(int64(99))
			loss := Mean(Concat(pooled, Embedding(g.IDs("ids", 2), o)))
			k := &counter{keeper: newKeeper(t, 0)}
			loss.Bind(k)
			exe := NewExecutor(g)
			for range 2 {
				must(t, exe, feeds, loss)
				if !slices.Equal(k.ids, []uint64{5, 7, 8}) || !slices.Equal(k.show, tt.wantShow) || !slices.Equal(k.click, tt.wantClick) {
					t.Errorf("rows %v: shows %v and clicks %v, want %v and %v", k.ids, k.show, k.click, tt.wantShow, tt.wantClick)
				}
			}
			if _, err := exe.Eval(t.Context(), feeds, loss); err != nil || k.show != nil || k.click != nil {
				t.Errorf("an evaluation counts shows %v and clicks %v, error %v", k.show, k.click, err)
			}
		})
	}
}

func TestCountingFeedsAreChecked(t *testing.T) {
	other := NewGraph(1).IDs("y", 1)
	for want, build := range map[string]func(g *Graph, o EmbeddingOptions) EmbeddingOptions{
		"need an Entry with ShowClick": func(g *Graph, o EmbeddingOptions) EmbeddingOptions {
			o.Entry, o.Click = optimizer.Entry{}, g.IDs("y", 1)
			return o
		},
		"belongs to another graph":      func(_ *Graph, o EmbeddingOptions) EmbeddingOptions { o.Click = other; return o },
		`"y" [N 2] can't count shows`:   func(g *Graph, o EmbeddingOptions) EmbeddingOptions { o.Click = g.IDs("y", 2); return o },
		"that is a feed of one number":  func(g *Graph, o EmbeddingOptions) EmbeddingOptions { o.Show = ReLU(g.Input("x", 1)); return o },
		`"s" [N] can't count shows or`:  func(g *Graph, o EmbeddingOptions) EmbeddingOptions { o.Show = g.Slot("s"); return o },
		"shows and clicks by other fee": func(g *Graph, o EmbeddingOptions) EmbeddingOptions { g.table(o); o.Click = g.IDs("y", 1); return o },
	} {
		g := NewGraph(1)
		Embedding(g.IDs("ids", 1), build(g, EmbeddingOptions{Name: "t", Dim: 2, Entry: byClicks}))
		if err := g.Err(); !strings.Contains(unplaced(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
