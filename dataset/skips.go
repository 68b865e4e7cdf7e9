package dataset

import "log/slog"

// skips are the lines that a pass over files has skipped.
type skips struct {
	lines int
	first *LineError
}

// Skipped returns how many bad lines this worker has skipped in the last load, and the first of them; nil if there were
// none.
func (d *InMemoryDataset) Skipped() (lines int, first *LineError) {
	return d.skips.lines, d.skips.first
}

// Skipped returns how many bad lines were skipped in the last pass, once it has ended, and the first of them; nil if
// there were none.
func (d *QueueDataset) Skipped() (lines int, first *LineError) { return d.skips.lines, d.skips.first }

// warn logs the skipped lines of the pass, once.
func (r *filesReader) warn() {
	if r.told {
		return
	}
	r.told = true
	s := skips{min(r.bad, r.SkipBad), r.firstBad}
	if r.ended != nil {
		r.ended(s)
	}
	if s.lines > 0 && r.OnBad == nil {
		slog.Warn("dataset: skipped bad lines", "lines", s.lines, "first", s.first.Error())
	}
}
