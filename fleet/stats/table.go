package stats

import (
	"log/slog"

	"github.com/gofleet/gofleet/internal/count"
)

// Table has the size of an embedding's table, and its counters.
type Table struct {
	Name string
	// Rows are in use, Free rows were dropped and their memory is not reused yet, Waiting ids have no row so far.
	Rows    int `count:"rows" name:"table_rows" by:"state=used" help:"Rows, by state."`
	Free    int `count:"free" name:"table_rows" by:"state=free"`
	Waiting int `count:"waiting" name:"table_rows" by:"state=waiting"`
	// Bytes is the memory of rows, index and waiting ids; MaxBytes is its bound, 0 if there is none.
	Bytes    int `count:"bytes" name:"table_bytes" help:"What rows, index and waiting ids take."`
	MaxBytes int `count:"max_bytes" name:"table_max_bytes" help:"Bound of the bytes, 0 for none."`
	// Load is the fraction of the index that is used.
	Load float64
	// KeptOut and TurnedAway count gradients that were dropped because of the Entry, and because of MaxBytes. Dropped
	// counts rows that Shrink dropped.
	KeptOut    uint64 `count:"kept_out" name:"table_lost_gradients_total" by:"cause=entry" help:"Gradients dropped."`
	TurnedAway uint64 `count:"turned_away" name:"table_lost_gradients_total" by:"cause=max_bytes"`
	Dropped    uint64 `count:"dropped" name:"table_dropped_rows_total" help:"Rows that Shrink dropped."`
	// Born counts rows created by training. Reads and Pushes are the durations of calls of the table, in seconds; for
	// an update by several cores, each core counts its own.
	Born   uint64    `count:"born" name:"table_born_rows_total" help:"Rows made by training."`
	Reads  Histogram `name:"table_call_seconds" by:"op=read" help:"How long calls of the table take."`
	Pushes Histogram `name:"table_call_seconds" by:"op=push"`
	// Hot are the most frequently pushed rows, the most frequent first: at most ten, each pushed at least 16 times.
	Hot []HotRow
	// Norms are those of rows, and Gradients those of their gradients: of the first push of a row, and of each 64th
	// later.
	Norms, Gradients Norms
}

// Norms describes Euclidean norms other than 0. Median is right to a factor of √2; Largest is that of the row ID.
type Norms struct {
	Seen            uint64
	Median, Largest float64
	ID              uint64
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
