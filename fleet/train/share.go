package train

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
)

func stockOf(rows *dataset.Dataset) stock {
	if rows == nil {
		return stock{}
	}
	if n, known := rows.Len(); known {
		return stock{n, rows.Digest(1024)}
	}
	return stock{Rows: -1}
}

// compare looks at what all workers have when they begin: the same rows, or each its own.
func (r *Run) compare(ctx context.Context, words []word) error {
	var cards []card
	for _, w := range words {
		if w.Card != nil {
			cards = append(cards, *w.Card)
		}
	}
	if r.Job.Sharded {
		r.sum(cards)
		return r.record()
	}
	for i, what := range []string{"rows to train on", "test rows"} {
		if slices.ContainsFunc(cards, func(c card) bool { return c.Has[i].differs(cards[0].Has[i]) }) {
			_ = r.Fleet.BarrierWorker(ctx) // none ends before all know why, whatever becomes of the others then
			return different(what, i, cards)
		}
	}
	return nil
}

// different says which worker has what.
func different(what string, i int, cards []card) error {
	var have []string
	for _, c := range cards[:min(len(cards), 8)] {
		s, others := c.Has[i], ""
		if s.Rows == cards[0].Has[i].Rows && s.differs(cards[0].Has[i]) {
			others = " others"
		}
		have = append(have, fmt.Sprintf("worker %d has %d%s", c.Worker, s.Rows, others))
	}
	return fmt.Errorf("train: workers have different %s (%s): each trains on its share of rows that all have, so that "+
		"part of these would never be used. Give all workers the same rows in the same order; where each has rows of "+
		"its own, say so: Job.Sharded", what, strings.Join(have, ", "))
}

// sum adds up the rows that workers have for themselves. Where the number of one is not known, the sum is not.
func (r *Run) sum(cards []card) {
	all, digest, known, alike := 0, fnv.New64a(), len(cards) > 0, len(cards) > 1
	for _, c := range cards {
		s := c.Has[0]
		known, alike, all = known && s.Rows >= 0, alike && s.Digest != "" && s.Digest == cards[0].Has[0].Digest,
			all+s.Rows
		fmt.Fprintln(digest, s)
	}
	if known {
		r.shares.stock = stock{all, fmt.Sprintf("%016x", digest.Sum64())}
	}
	if alike && r.others.leads {
		slog.Warn("train: Job.Sharded says that each worker has rows of its own, and all have the same: every worker "+
			"trains on each of them", "rows", cards[0].Has[0].Rows, "workers", len(cards))
	}
}

// deal is this worker's share of an epoch's rows, and notes how many examples it, all and the worker with the fewest
// have.
func (r *Run) deal(ctx context.Context, rows *dataset.Dataset) (mine *dataset.Dataset, err error) {
	mine = r.mine(rows)
	r.shares.mine, _ = mine.Len()
	r.shares.all, _ = rows.Len()
	workers := r.Fleet.WorkerNum()
	r.shares.least = r.shares.all / workers
	unknown := r.shares.all == 0
	if r.shares.least == 0 && !unknown && !r.Job.Sharded {
		_ = r.Fleet.BarrierWorker(ctx) // none ends before all know why
		return nil, fmt.Errorf("train: epoch %d has %d rows for %d workers, each of which trains on a share of them: "+
			"give the job more rows, or start no more than %d workers", r.Epoch+1, r.shares.all, workers, r.shares.all)
	}
	if r.Job.Sharded {
		if r.shares.all = max(0, r.shares.stock.Rows); r.Job.Rows != nil {
			r.shares.all = 0 // what others choose of theirs is unknown
		}
	}
	if !r.Fleet.IsCollective() || r.Job.EvalEvery == 0 || !r.Job.Sharded && !unknown {
		// parted is asked of evaluations alone
		return mine, nil
	}
	if _, known := mine.Len(); !known { // rows that are filtered, or read as they come
		if r.shares.mine, err = count(ctx, mine); err != nil {
			return nil, err
		}
	}
	least, err := r.Fleet.AllReduceInts(ctx, []int64{int64(r.shares.mine)}, fleet.Min)
	if err != nil {
		return nil, err
	}
	r.shares.least = int(least[0])
	return mine, nil
}

// count is how many rows there are, by looking at each.
func count(ctx context.Context, rows *dataset.Dataset) (n int, err error) {
	for batch, err := range rows.MayBeEmpty().BatchesContext(ctx, testBatch) {
		if err != nil {
			return 0, err
		}
		for _, column := range batch {
			n += column.Shape()[0]
			break
		}
	}
	return n, nil
}

// mine is this worker's share of rows.
func (r *Run) mine(rows *dataset.Dataset) *dataset.Dataset {
	if r.Job.Sharded {
		return rows
	}
	return rows.Shard(r.Fleet.WorkerIndex(), r.Fleet.WorkerNum())
}

// rows are the epoch's, of all workers.
func (r *Run) rows() *dataset.Dataset { return r.rowsOf(r.Epoch) }

func (r *Run) rowsOf(epoch int) *dataset.Dataset {
	if r.Job.Rows != nil {
		return r.Job.Rows(epoch, r.train)
	}
	return r.train.Shuffle(r.Job.Seed).Epoch(epoch)
}
