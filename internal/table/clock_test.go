package table

import (
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// What is put back was not seen in the future: the clock goes on from there.
func TestClockGoesOnAfterARestore(t *testing.T) {
	table := entryTable(t, 0, optimizer.Entry{CountFilter: 2})
	check(t, Filler{Table: table}.Row(Row{ID: 1, W: []float32{0}, Seen: 5}))
	check(t, Filler{Table: table}.Row(Row{ID: 2, W: []float32{0}, Seen: 3}))
	if got := table.Clock(); got != 5 {
		t.Errorf("the clock is at %d after rows seen at 5 and 3", got)
	}
	check(t, Filler{Table: table}.Waiter(Waiter{ID: 3, Pushes: 1, Seen: 7}))
	if now := table.Tick(); now != 8 || table.Clock() != 8 {
		t.Errorf("the clock is at %d after an id that waits since 7 and a tick", now)
	}
}
