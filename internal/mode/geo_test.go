package mode

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/script"
	"github.com/gofleet/gofleet/optimizer"
)

// geoWorker is a worker's copy of one weight.
type geoWorker struct{ latest, old []float32 }

// TestGeoScript plays testdata/geo.script: workers train one weight and exchange it, one after another.
func TestGeoScript(t *testing.T) {
	script.Play(t, "geo.script", func(t *testing.T, lines iter.Seq[script.Line]) {
		var server []float32
		var workers []geoWorker
		for l := range lines {
			switch l.Words[0] {
			case "workers":
				server = []float32{float(t, l.Words[2])}
				workers = make([]geoWorker, script.Number(t, l.Words[1]))
				for i := range workers {
					workers[i] = geoWorker{slices.Clone(server), slices.Clone(server)}
				}
			case "train": // gradient descent of rate 1: the gradient is what to go down
				w := &workers[script.Number(t, l.Words[1])]
				optimizer.SGD{LR: 1}.Update(w.latest, []float32{-float(t, l.Words[2])}, nil, &optimizer.State{Step: 1})
			case "exchange":
				workers[script.Number(t, l.Words[1])].exchange(t, server, len(workers), l)
			case "drain":
				workers[script.Number(t, l.Words[1])].exchange(t, server, 1, l)
			default:
				l.Unknown(t)
			}
		}
	})
}

// TestTakeSaysWhetherAnythingIsLeft: of weights that have changed something is, unless all of them went, or their share was all.
func TestTakeSaysWhetherAnythingIsLeft(t *testing.T) {
	for _, tt := range []struct {
		latest []float32
		n      int
		left   bool
	}{{[]float32{1, 2}, 2, false}, {[]float32{1, 4}, 2, true}, {[]float32{3, 2}, 2, true}, {[]float32{3, 4}, 1, false}} {
		old, delta := []float32{1, 2}, make([]float32, 2)
		if left := Take(delta, tt.latest, old, tt.n); left != tt.left {
			t.Errorf("from [1 2] to %v, a part of %d: left %t, want %t", tt.latest, tt.n, left, tt.left)
		}
	}
}

// exchange makes an exchange of a share of what has changed, and checks what was sent, the server's value, the latest and the old.
func (w *geoWorker) exchange(t *testing.T, server []float32, share int, l script.Line) {
	delta := []float32{0}
	Take(delta, w.latest, w.old, share)
	Sum{}.Update(server, delta, nil, nil)
	Receive(w.latest, w.old, server)
	got := []float32{delta[0], server[0], w.latest[0], w.old[0]}
	for i, word := range strings.Fields(l.Want) {
		if math.Abs(float64(got[i]-float(t, word))) > 1e-6 {
			t.Fatalf("%v: sent, server, latest, old are %v, want %s", l, got, l.Want)
		}
	}
}

// changedRows is a set of rows as a table's watch would be.
type changedRows map[uint64]bool

func (c changedRows) Take(dst []uint64) []uint64 {
	dst = slices.AppendSeq(dst, maps.Keys(c))
	clear(c)
	return dst
}

func (c changedRows) note(ids ...uint64) {
	for _, id := range ids {
		c[id] = true
	}
}

func (c changedRows) All() { c.note(1, 3, 4, 5, 9) }

// TestRecorder asks, repeats and overtakes.
func TestRecorder(t *testing.T) {
	first, second := changedRows{}, changedRows{}
	r := NewRecorder(first, second)
	first.note(5, 3, 9)
	second.note(1)
	ask := func(step uint64, table, most int, want string) {
		t.Helper()
		a := r.Ask(step, table, most)
		got := fmt.Sprint(a.IDs, a.More)
		if a.All {
			got += " all"
		}
		if got != want {
			t.Errorf("request %d for table %d got %s, want %s", step, table, got, want)
		}
	}
	ask(1, 0, 2, "[3 5] true all")
	first.note(3) // changes again meanwhile
	ask(1, 0, 2, "[3 5] true all")
	ask(1, 1, 9, "[1] false all")
	ask(2, 0, 0, "[] true") // no room for any
	ask(3, 0, 1, "[3] true")
	ask(1, 0, 9, "[] false") // came late
	ask(3, 1, 9, "[] false")
	first.note(3, 4)
	ask(4, 0, 9, "[3 4 9] false")
	ask(5, 0, 0, "[] false")
	first.note(9)
	ask(6, 0, 0, "[] true")
	r.Anew(0) // of what waits for the next answer all comes anyway
	ask(6, 0, 9, "[] true")
	ask(7, 0, 0, "[] true all")
	ask(8, 0, 3, "[1 3 4] true")
	r.Anew(0)
	ask(8, 0, 3, "[1 3 4] true")
	ask(9, 1, 9, "[] false")
	ask(9, 0, 3, "[1 3 4] true all")
	ask(9, 0, 3, "[1 3 4] true all")
	ask(10, 0, 3, "[5 9] false")
}

// TestWholeSharesLeaveNothing has values and changes of all sizes taken whole: nothing is left, and the worker has what the servers come
// to.
func TestWholeSharesLeaveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float32Range(-1e6, 1e6)
		latest, old := []float32{value.Draw(t, "latest")}, []float32{value.Draw(t, "old")}
		server, delta := slices.Clone(old), []float32{0}
		was := latest[0]
		if Take(delta, latest, old, 1) {
			t.Error("something is left")
		}
		Sum{}.Update(server, delta, nil, nil)
		if server[0] != old[0] || latest[0] != old[0] {
			t.Errorf("the server has %v, the worker %v and before that %v", server, latest, old)
		}
		if d := math.Abs(float64(latest[0] - was)); d > 1e-6*max(math.Abs(float64(was)), math.Abs(float64(delta[0]))) {
			t.Errorf("%v became %v", was, latest)
		}
	})
}

// TestOldIsTheServers has a worker take shares of what it changes while nobody else does: its old weights stay the servers',
// bit for bit.
func TestOldIsTheServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float32Range(-1, 1)
		old := []float32{value.Draw(t, "first")}
		latest, server, delta := slices.Clone(old), slices.Clone(old), []float32{0}
		for range rapid.IntRange(1, 20).Draw(t, "exchanges") {
			latest[0] += value.Draw(t, "trained")
			Take(delta, latest, old, rapid.IntRange(1, 7).Draw(t, "share"))
			Sum{}.Update(server, delta, nil, nil)
			if server[0] != old[0] {
				t.Fatalf("the server has %v, the worker takes it to have %v", server, old)
			}
		}
	})
}
