package client

import (
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/strategy"
)

// TestRowsFetchedAheadAreNotUsedAfterADay: they may have been dropped.
func TestRowsFetchedAheadAreNotUsedAfterADay(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 1, s)
				j.serve(0, 1)
				c := j.join(0, nil)
				th := open(t, c)
				ids := []uint64{3, 4, 5}
				th.train(1, ids, ids)
				check(t, c.drain(t.Context()))
				for day, want := range []int{0, 3} {
					done, err := c.Shrink(t.Context(), table.Shrink{Unseen: 1}, nil)
					check(t, err)
					if len(done) != 1 || done[0].Rows != want {
						t.Errorf("day %d dropped %+v, want %d rows", day, done, want)
					}
				}
				all(t, "rows that were dropped", th.train(1, ids, nil).Rows[0].W, 0)
				check(t, th.Close(t.Context()))
				check(t, c.Leave(t.Context()))
			})
		})
	}
}
