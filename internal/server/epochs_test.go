package server

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestFirstEpochs: by what a worker has reported, by its positions and by the mode.
func TestFirstEpochs(t *testing.T) {
	ended := func(epoch int, at []progress.Position) progress.Begun {
		return progress.Begun{Epoch: epoch + 1, At: at}
	}
	at := func(epoch uint32, samples uint64) []progress.Position {
		return []progress.Position{{Threads: 1, Epoch: epoch, Samples: samples}}
	}
	for name, c := range map[string]struct {
		begun     []progress.Begun
		positions [][]progress.Position
		own       []int // in async
		alike     int   // in sync
	}{
		"a new job":                      {[]progress.Begun{{}, {}}, [][]progress.Position{nil, nil}, []int{0, 0}, 0},
		"both have ended the epoch":      {[]progress.Begun{ended(1, at(1, 9)), ended(1, at(1, 9))}, [][]progress.Position{at(1, 9), at(1, 9)}, []int{2, 2}, 2},
		"a push is not in the weights":   {[]progress.Begun{ended(1, at(1, 9)), ended(1, at(1, 9))}, [][]progress.Position{at(1, 9), at(1, 6)}, []int{2, 1}, 1},
		"one is behind":                  {[]progress.Begun{ended(2, at(2, 9)), ended(0, at(0, 9))}, [][]progress.Position{at(3, 5), at(1, 3)}, []int{3, 1}, 1},
		"it has pushed more of it since": {[]progress.Begun{ended(1, at(1, 6)), ended(1, at(1, 9))}, [][]progress.Position{at(1, 9), at(2, 3)}, []int{1, 2}, 1},
		"it had no samples":              {[]progress.Begun{{Epoch: 2}, ended(1, at(1, 9))}, [][]progress.Position{nil, at(1, 9)}, []int{2, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, st := range []strategy.Strategy{strategy.Async(), strategy.Sync()} {
				s := job{strategy: st, workers: 2}.empty(t)
				e := s.recovery.epochs
				s.st.Roster.Resume(c.positions)
				copy(e.begun, c.begun)
				for w := range 2 {
					want := c.own[w]
					if e.alike {
						want = c.alike
					}
					if got := e.first(w); got != want {
						t.Errorf("%s: worker %d goes on in epoch %d, want %d", st.Mode, w, got, want)
					}
				}
			}
		})
	}
}

// TestEarlierEpochsAreRefused, but after a load; a report that is refused changes nothing.
func TestEarlierEpochsAreRefused(t *testing.T) {
	s := job{strategy: strategy.Async(), workers: 1}.server(t)
	e := s.recovery.epochs
	says := func(epoch int, status uint8) {
		t.Helper()
		send(t, s, message(t, wire.Header{Op: wire.OpBegin, Life: 1}, wire.Begin{Progress: wire.Progress{Epoch: epoch}, Was: e.epochOf(0)}), status)
	}
	says(3, wire.StatusOK)
	says(2, wire.StatusRefused)
	says(3, wire.StatusOK)
	if e.progress.Epoch != 3 || e.first(0) != 3 {
		t.Errorf("the job is in epoch %d, its worker in %d, want 3", e.progress.Epoch, e.first(0))
	}
	s.st.Lock()
	e.anew()
	s.st.Unlock()
	says(1, wire.StatusOK)
	says(0, wire.StatusRefused)
	if e.progress.Epoch != 1 || e.first(0) != 1 {
		t.Errorf("after a load the job is in epoch %d, its worker in %d, want 1", e.progress.Epoch, e.first(0))
	}
}

// TestFirstEpochsOfManifests, which depends on the number of workers.
func TestFirstEpochsOfManifests(t *testing.T) {
	m := checkpoint.Manifest{Progress: &checkpoint.Progress{Epoch: 5}, Firsts: []int{5, 3, 4}}
	for _, c := range []struct {
		workers int
		alike   bool
		want    []int
	}{
		{3, false, []int{5, 3, 4}},
		{3, true, []int{3, 3, 3}},
		{2, false, []int{3, 3}},
	} {
		var got []int
		for w := range c.workers {
			got = append(got, m.First(w, c.workers, c.alike))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d workers, alike %t: %v, want %v", c.workers, c.alike, got, c.want)
		}
	}
	m.Firsts = nil
	if got := m.First(0, 1, false); got != 5 {
		t.Errorf("alone it goes on in epoch %d, want 5", got)
	}
}
