package client

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestLargeGathers gathers more than a message holds, by workers that give little, nothing and much: each has what all gave.
//
// Promise: [G12] gathers of any size travel in frames, and have all of a worker's part or nothing
// Also: TestLargeGathersOfTheDead
func TestLargeGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := strategy.Async()
		s.MaxFrame = 8 << 10
		j := newJob(t, 1, 3, s)
		j.net.MaxMessage = 16 << 10
		j.serve(0)
		given := [][]byte{bytes.Repeat([]byte("0123456789"), 10_000), {}, []byte("little")}
		type result struct {
			worker int
			all    [][]byte
			err    error
		}
		results := make(chan result)
		for w := range given {
			c := j.join(w, nil)
			go func() {
				_, err := c.gathers.gather(t.Context(), "before", nil)
				check(t, err)
				all, err := c.gathers.gather(t.Context(), "large", given[w])
				results <- result{w, all, err}
			}()
		}
		for range given {
			r := <-results
			check(t, r.err)
			for w, want := range given {
				if got := r.all[w]; !bytes.Equal(got, want) || got == nil {
					t.Errorf("worker %d has %d bytes of worker %d, who gave %d", r.worker, len(got), w, len(want))
				}
			}
		}
	})
}

// TestLargeGathersOfTheDead: of a worker that ends in the middle of its part the others have nothing, as of one that never came.
func TestLargeGathersOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := strategy.Async()
		s.MaxFrame = 8 << 10
		j := newJob(t, 1, 2, s)
		j.serve(0)
		c, dies := j.join(0, nil), j.join(1, nil)
		go func() {
			_, _ = dies.gathers.round(t.Context(), wire.Gather{Call: "half", Data: make([]byte, 100), More: true})
			dies.Close()
		}()
		all, err := c.gathers.gather(t.Context(), "half", make([]byte, 20_000))
		check(t, err)
		if len(all[0]) != 20_000 || all[1] != nil {
			t.Errorf("%d bytes of one that lives, %d of one that died", len(all[0]), len(all[1]))
		}
	})
}

// TestLargeOrders: shares of an evaluation that are larger than a frame come to all, as they were.
//
// Promise: [G12] shares of evaluations of any size travel in frames
func TestLargeOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := strategy.Async()
		s.MaxFrame = 8 << 10
		j := newJob(t, 1, 2, s)
		j.net.MaxMessage = 16 << 10
		j.serve(0)
		shares := [][]byte{bytes.Repeat([]byte("0123456789"), 10_000), []byte("little")}
		acts := make(chan *epoch.Made)
		for w := range shares {
			c := j.join(w, nil)
			go func() {
				m := epoch.NewMember(epoch.At{Worker: w, Life: 1}, 0)
				for {
					told, err := c.Ask(t.Context(), m.At())
					check(t, err)
					if !m.Told(told) {
						continue
					}
					switch told.Do {
					case epoch.Begin:
						m.Begun(1, false, false)
					case epoch.Train:
						m.Ended(nil)
					case epoch.Measure:
						m.Did(shares[w])
					default:
						acts <- told.Made
						return
					}
				}
			}()
		}
		for range shares {
			if made := <-acts; made == nil || !slices.EqualFunc(made.Shares, shares, bytes.Equal) {
				t.Errorf("an evaluation of other shares: %v", made)
			}
		}
	})
}
