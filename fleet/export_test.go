package fleet

import (
	"log/slog"
	"net"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/observe"
)

// Variables are those that gofleet reads of its own.
var Variables = mistyped.Ours()

// LookAtMemory has a watch of a server's memory see what it uses, again and again, beside others of its control group.
func LookAtMemory(limit int64, tables []stats.Table, log *slog.Logger, others int64, used ...int64) {
	w := &memoryWatch{limit: limit, tables: func() []stats.Table { return tables }, log: log, next: memoryFirst}
	for _, n := range used {
		w.look(n, others+n)
	}
}

// Pin gives a process a number instead of a random one, so that its messages are the same in every run and meet the
// same faults.
func (f *Fleet) Pin(process uint64) { f.process = process }

// Forget takes the default fleet away, as it is before Init, and gives it back when the test ends.
func Forget(t interface{ Cleanup(func()) }) {
	before := standard.Swap(nil)
	t.Cleanup(func() { standard.Store(before) })
}

// Fingerprint is what this process shows when it joins its job.
func (f *Fleet) Fingerprint() []string { return f.job.Fingerprint }

// Probed has this role answer probes without a port.
func (f *Fleet) Probed() *observe.Board {
	f.seen.Board = new(observe.Board)
	return f.seen.Board
}

// ShowAgain has probes told of a role that was minimized before it was probed.
func (f *Fleet) ShowAgain() { f.seen.Show(f.String(), f.health, f.status) }

// TablesOf is what a role shows of its tables.
var TablesOf = tablesOf

// Exposed has this role show what it counts, and its status, without a port, to who calls ask.
func (f *Fleet) Exposed() (ask func(path string) []byte) {
	page := new(observe.Page)
	f.seen.Page = page
	return func(path string) []byte {
		return page.Answer(&observe.Request{Path: path, Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).Body
	}
}
