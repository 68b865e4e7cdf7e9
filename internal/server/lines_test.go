package server

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestABrokenConnectionIsNoVerdictAlone: a worker whose connection is broken is not dead while its pushes come. Once it
// is silent it is, but for a server that may be cut off itself: that needs another worker's word since.
func TestABrokenConnectionIsNoVerdictAlone(t *testing.T) {
	for name, test := range map[string]struct{ lonely, another, dead bool }{
		"workers wait for no server":          {dead: true},
		"others are silent too":               {lonely: true},
		"another worker is heard":             {lonely: true, another: true, dead: true},
		"workers wait for none, one is heard": {another: true, dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := roster.New(roster.Options{Workers: 2, Timeout: 30 * time.Second, Heartbeat: time.Second})
			push := func(worker uint32) {
				if err := r.Sender(&wire.Header{Worker: worker, Life: 1, Op: wire.OpStep}, now); err != nil {
					t.Fatal(err)
				}
			}
			for w := range 2 {
				if _, err := r.Begin(w, 1, now); err != nil {
					t.Fatal(err)
				}
			}
			c := &lines{roster: r, byWorker: make([]line, 2), enough: 2 * time.Second, lonely: test.lonely}
			c.heard(0, 1, &state.Reply{Broken: func() bool { return true }})
			dead, silent := false, 0
			for look := range 20 {
				if now = now.Add(500 * time.Millisecond); look < 10 {
					push(0)
				} else {
					silent++
				}
				if test.another {
					push(1)
				}
				c.ended(now, func(int, wire.Ending) {
					if dead = true; silent < 4 {
						t.Errorf("look %d: it is dead, and was silent for %d", look, silent)
					}
				})
			}
			if dead != test.dead {
				t.Errorf("it is dead: %v", dead)
			}
		})
	}
}

// TestWorkerIsKnownByANewConnection: a worker is known by a new connection too where one of its life was asked twice, and where each of its
// requests has a connection of its own, whose end says nothing, only silence tells.
func TestWorkerIsKnownByANewConnection(t *testing.T) {
	for name, test := range map[string]struct {
		firsts []bool // whether each request that shows life is its connection's first
		life   uint32 // of the last of them
		dead   bool
	}{
		"joins on a connection that was asked before":        {[]bool{false}, 1, true},
		"its second heartbeat goes by the same":              {[]bool{true, false}, 1, true},
		"its last heartbeat goes by a new one":               {[]bool{false, true}, 1, true},
		"each has one of its own":                            {[]bool{true, true, true}, 1, false},
		"the life before has kept one, and this one has not": {[]bool{false, true}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := roster.New(roster.Options{Workers: 1, Timeout: 30 * time.Second, Heartbeat: time.Second})
			c := &lines{roster: r, byWorker: make([]line, 1), enough: 2 * time.Second, pace: 500 * time.Millisecond}
			for i, first := range test.firsts {
				life := uint32(1)
				if i == len(test.firsts)-1 {
					life = test.life
				}
				if _, err := r.Begin(0, life, now); err != nil {
					t.Fatal(err)
				}
				c.heard(0, life, &state.Reply{Broken: func() bool { return true }, First: first})
			}
			dead := false
			for look := 1; look <= 20 && !dead; look++ {
				now = now.Add(500*time.Millisecond + time.Duration(look%2*2-1)*time.Millisecond)
				c.ended(now, func(int, wire.Ending) {
					if dead = true; look != 5 {
						t.Errorf("it is dead at look %d, want 5: 2 s behind the first", look)
					}
				})
			}
			if dead != test.dead {
				t.Errorf("it is dead: %v", dead)
			}
		})
	}
}
