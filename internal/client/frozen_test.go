package client

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// TestAnswersOfFrozenValues reads such as servers that are no servers of this kind may give.
func TestAnswersOfFrozenValues(t *testing.T) {
	for name, c := range map[string]struct {
		dense []float32
		fails bool
	}{
		"as asked": {[]float32{1, 2}, false}, "none": {nil, true}, "too few": {[]float32{1}, true}, "too many": {[]float32{1, 2, 3}, true},
	} {
		var b wire.Builder
		b.Reset(wire.Header{Op: wire.OpBring})
		b.Blob([]byte("{}"))
		if c.dense != nil {
			b.Dense(c.dense)
		}
		var f wire.Frame
		check(t, f.Parse(bytes.Join(b.Parts(), nil)))
		got := make([]float32, 2)
		if err := readFrozen(&f, got); (err != nil) != c.fails || err == nil && !slices.Equal(got, c.dense) {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
}

// TestFrozenValuesAreTheWorkers: they are those of its params until they are set, which sessions hear of once.
func TestFrozenValuesAreTheWorkers(t *testing.T) {
	still := func() *optimizer.Param {
		return &optimizer.Param{Name: "mean", Shape: []int{2}, W: []float32{5, 6}, Frozen: true}
	}
	l, err := layout.New(append(params(), still()), 1, placement.Options{})
	check(t, err)
	c := New(Config{Workers: 1, Servers: []string{"server:1"}, Layout: l, Rule: rule, Strategy: strategy.Sync().WithDefaults(), Transport: transport.NewMemory(), Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(c.Close)
	own := append(params(), still())
	has := c.sessions.Frozen.Install(own, 0)
	if got := c.sessions.Frozen.Values(); !slices.Equal(got, []float32{5, 6}) || has != 0 {
		t.Errorf("before anything was set: %v, version %d", got, has)
	}
	for name, w := range map[string][]float32{"w": make([]float32, 24), "mean": {1}, "emb": {1, 2}} {
		if err := c.SetDense(name, w); err == nil {
			t.Errorf("%d values for %q were taken", len(w), name)
		}
	}
	w := []float32{7, 8}
	check(t, c.SetDense("mean", w))
	w[0] = 9
	has = c.sessions.Frozen.Install(own, has)
	if got := c.sessions.Frozen.Values(); !slices.Equal(got, []float32{7, 8}) || !slices.Equal(own[2].W, got) {
		t.Errorf("set to 7 and 8: %v, a session has %v", got, own[2].W)
	}
	own[2].W[0] = 1
	if c.sessions.Frozen.Install(own, has); own[2].W[0] != 1 {
		t.Error("a session that has the newest values is given them again")
	}
}
