package server

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
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
			c.heard(0, 1, func() bool { return true })
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
