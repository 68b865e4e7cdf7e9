package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/proc"
)

// memoryWatch warns of a server that grows to the bound of its control group, alone or with other processes there, at
// which the system kills it without a line.
type memoryWatch struct {
	limit  int64 // 0 for none
	tables func() []stats.Table
	log    *slog.Logger
	next   int // percent
}

const (
	memoryEvery = 5 * time.Second
	memoryFirst = 80 // percent
	memoryMore  = 10
)

// watchMemory starts a watch of this process, and returns a function that ends it.
func watchMemory(tables func() []stats.Table, log *slog.Logger) (stop func()) {
	w := &memoryWatch{limit: proc.MemoryLimit(), tables: tables, log: log, next: memoryFirst}
	if w.limit == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for t := time.NewTicker(memoryEvery); ; {
			select {
			case <-t.C:
				w.look(memoryUsed(), proc.MemoryUsed())
			case <-ctx.Done():
				t.Stop()
				return
			}
		}
	}()
	return func() { cancel(); <-over }
}

// memoryUsed is the memory that the Go runtime has from the system.
func memoryUsed() int64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() - all[1].Value.Uint64())
}

// look warns once of each tenth from 80 percent on.
func (w *memoryWatch) look(own, all int64) {
	used, who := own, "this server has"
	if all > own {
		used, who = all, fmt.Sprintf("this server, with %d %%, and other processes have", own*100/w.limit)
	}
	percent := int(used * 100 / w.limit)
	if percent < w.next {
		return
	}
	for w.next <= percent {
		w.next += memoryMore
	}
	var shares []string
	for _, t := range w.tables() {
		shares = append(shares, fmt.Sprintf("%s %d %% (%d rows)", t.Name, int64(t.Bytes)*100/w.limit, t.Rows))
	}
	w.log.Warn(fmt.Sprintf("%s %d %% of the control group's memory, at whose bound the system kills processes: "+
		"raise the bound, start more servers, Shrink tables, or bound them by MaxBytes", who, percent),
		"bytes", used, "bound", w.limit, "tables", strings.Join(shares, ", "))
}
