package train

import (
	"context"
	"iter"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// groups counts the groups within which the loss compares rows, and those that come again after other groups, in
// batches that were made side by side.
type groups struct {
	column string
	seen   map[int64]bool
	last   map[int]int64 // by lane, the group that may go on in its next batch
	again  int
}

// add adds the next batch of a lane, and reports whether that many groups came again that most are not whole.
func (g *groups) add(lane int, batch []int64) bool {
	ids, at := slices.Clone(batch), g.last[lane]
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if g.seen[id] && id != at {
			g.again++
		}
		g.seen[id] = true
	}
	g.last[lane] = batch[len(batch)-1]
	return g.again > len(g.last)+len(g.seen)/10
}

func (g *groups) warn() {
	slog.Warn("train: the rows of Job.Rows make batches of parts of groups, within which the loss compares rows: of "+
		"other batches it sees none", "groups", g.column, "do", "leave Job.Rows out, which keeps groups of rows "+
		"in memory together, or return train.ShuffleGroups by that column, for the number of workers times threads")
}

// inGroups warns once of the batches of an epoch that divide groups, which Job.Rows may make. Batches of rows that
// stream by are seen as they are trained on, unless rows are dealt to several lanes, which divides groups anyhow.
// What is wrong with rows their step reports.
func (s *shares) inGroups(ctx context.Context, epoch int) {
	if s.job.Rows == nil || s.groups != nil {
		return
	}
	rows, err := s.of(epoch)
	if err != nil {
		return
	}
	g := &groups{column: s.job.compared(rows), seen: map[int64]bool{}, last: map[int]int64{}}
	s.groups = g
	lanes := s.lanes()
	if _, memory := rows.Len(); g.column == "" || !memory && lanes == 1 {
		return
	} else if !memory {
		g.warn()
		return
	}
	some, err := rows.Take(mostLooked).Select(g.column).Batch(ctx)
	if err != nil {
		return
	}
	for block := range slices.Chunk(some[g.column].Int64s(), lanes*s.job.Batch) {
		for lane := range min(lanes, len(block)) {
			var dealt []int64
			for i := lane; i < len(block); i += lanes {
				dealt = append(dealt, block[i])
			}
			if g.add(lane, dealt) {
				g.warn()
				return
			}
		}
	}
}

// streaming passes on batches of rows that stream by.
func (s *shares) streaming(batches iter.Seq2[dataset.Batch, error]) iter.Seq2[dataset.Batch, error] {
	g := s.groups
	if g == nil || g.column == "" || len(g.last) > 0 || s.lanes() > 1 {
		return batches
	}
	return func(yield func(dataset.Batch, error) bool) {
		said := false
		for batch, err := range batches {
			if err == nil && !said && len(g.seen) < mostLooked && g.add(0, batch[g.column].Int64s()) {
				g.warn()
				said = true
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}
