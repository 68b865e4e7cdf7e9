package stats

import (
	"log/slog"

	"github.com/gofleet/gofleet/internal/count"
)

// Table are the size of an embedding's table, and what it turned away.
type Table struct {
	Name string
	// Rows are in use, Free ones were dropped and their memory is not used again yet, Waiting ids have no row so far.
	Rows    int `count:"rows" name:"table_rows" by:"state=used" help:"Rows, by state."`
	Free    int `count:"free" name:"table_rows" by:"state=free"`
	Waiting int `count:"waiting" name:"table_rows" by:"state=waiting"`
	// Bytes are what rows, index and waiting ids take; MaxBytes is their bound, 0 if there is none.
	Bytes    int `count:"bytes" name:"table_bytes" help:"What rows, index and waiting ids take."`
	MaxBytes int `count:"max_bytes" name:"table_max_bytes" help:"Bound of the bytes, 0 for none."`
	// Load is the part of the index that is used.
	Load float64
	// KeptOut and TurnedAway are gradients that were dropped, because the Entry kept their ids out, and because of
	// MaxBytes. Dropped are rows that Shrink dropped.
	KeptOut    uint64 `count:"kept_out" name:"table_lost_gradients_total" by:"cause=entry" help:"Gradients dropped."`
	TurnedAway uint64 `count:"turned_away" name:"table_lost_gradients_total" by:"cause=max_bytes"`
	Dropped    uint64 `count:"dropped" name:"table_dropped_rows_total" help:"Rows that Shrink dropped."`
	// Born are rows that were made by training. Reads and Pushes are how long calls of the table took, in seconds: of
	// an update by several cores each its own.
	Born   uint64    `count:"born" name:"table_born_rows_total" help:"Rows made by training."`
	Reads  Histogram `name:"table_call_seconds" by:"op=read" help:"How long calls of the table take."`
	Pushes Histogram `name:"table_call_seconds" by:"op=push"`
	// Hot are the rows that were pushed most, the most pushed first; at most ten, none that was pushed less than 16
	// times.
	Hot []HotRow
}

// HotRow is a row that is pushed often.
type HotRow struct {
	ID      uint64
	Updates uint32
}

// LogValue implements [slog.LogValuer].
func (t Table) LogValue() slog.Value {
	attrs := count.Attrs(t)
	if len(t.Hot) > 0 {
		attrs = append(attrs, slog.Uint64("hottest", t.Hot[0].ID))
	}
	return slog.GroupValue(attrs...)
}
