package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
)

// shares are the rows that a job trains on, and this worker's share of them in an epoch.
type shares struct {
	job   *Job
	fleet *fleet.Fleet
	train *dataset.Dataset // from Job.Data
	stock stock            // of all workers

	// examples of the current epoch, 0 if unknown: of this worker, and of all
	mine, all int
	// examples that this worker had trained of the epoch when it began it here; of workers that make their steps
	// together the fewest that one had trained, and left the fewest that one had not
	passed, left int

	days *days       // nil if epochs are none
	past map[int]int // examples of epochs that this process has ended, by epoch

	signature json.RawMessage // of the job when it began, nil if that is not known yet
	then      *order          // of the checkpoint from which the job goes on, nil if unknown
	other     string          // why the columns of what the job goes on from are not its own, "" if they are
	small     bool            // it was reported that a batch is larger than the data
	groups    *groups         // that Job.Rows may have divided; nil if it is not known yet
}

// card is a worker's description of its rows when the job begins: to train on, and to test on.
type card struct {
	Worker int
	Has    [2]stock
	Format string // a digest of how files of rows are read
	Other  string // why its columns are not those of what the job goes on from, "" if they are
}

// stock is the number of rows, -1 if unknown, and a digest of some of them, "" if there is none.
type stock struct {
	Rows   int
	Digest string
}

// differs reports whether two workers are known to have different rows.
func (s stock) differs(other stock) bool {
	known := s.Rows >= 0 && other.Rows >= 0
	return known && (s.Rows != other.Rows || s.Digest != "" && other.Digest != "" && s.Digest != other.Digest)
}

func stockOf(rows *dataset.Dataset) stock {
	if rows == nil {
		return stock{}
	}
	if n, known := rows.Len(); known {
		return stock{n, rows.Digest(1024)}
	}
	return stock{Rows: -1}
}

// format is a digest of how the job's files of rows are read, as far as that is known.
func (j *Job) format() string {
	digest := fnv.New64a()
	digest.Write(j.signature())
	return fmt.Sprintf("%016x", digest.Sum64())
}

// compare compares the rows of all workers that have begun the job: all have the same rows, or each its own, in the
// columns of what the job goes on from. A lone worker, which begins later, refuses nothing but its own columns.
func (s *shares) compare(ctx context.Context, cards []card, leads, lone bool) error {
	if lone && s.other != "" {
		return errors.New(s.other)
	}
	for _, c := range cards {
		if c.Other != "" && !lone {
			return s.refuse(ctx, errors.New(c.Other))
		}
	}
	other := func(c card) bool { return c.Format != cards[0].Format }
	if s.signature == nil {
		s.signature = json.RawMessage("{}") // of workers that read their rows by different formats, or by a long one
		if own := s.job.signature(); len(own) <= longestSignature && !slices.ContainsFunc(cards, other) {
			s.signature = own
		}
	}
	both := func(c card) bool { return c.Has[0].Digest != "" && c.Has[0] == c.Has[1] }
	told := shared(s.job.Files.Paths, s.job.Files.Test) != "" // by the file's name
	if leads && !told && slices.ContainsFunc(cards, both) {
		slog.Warn("train: the test rows are the rows to train on: evaluations show memorization, not generalization",
			"rows", cards[0].Has[0].Rows)
	}
	if s.job.Sharded {
		s.sum(cards, leads)
		return nil
	}
	for i, what := range []string{"rows to train on", "test rows"} {
		if !lone && slices.ContainsFunc(cards, func(c card) bool { return c.Has[i].differs(cards[0].Has[i]) }) {
			return s.refuse(ctx, different(what, i, cards))
		}
	}
	return nil
}

// refuse ends the job for a reason that all workers find. None ends before all have found it, and servers, which would
// wait for a worker that fails to be started again, end with them.
func (s *shares) refuse(ctx context.Context, why error) error {
	if s.fleet.BarrierWorker(ctx) == nil {
		_ = s.fleet.StopWorker(ctx)
	}
	return why
}

// different is the error that lists what each worker has.
func different(what string, i int, cards []card) error {
	return fmt.Errorf("train: workers have different %s (%s): each trains on its share of rows that all have, so that "+
		"part of these would never be used. Give all workers the same rows in the same order; where each has rows of "+
		"its own, say so: Job.Sharded", what, listOf(i, cards))
}

// listOf lists what each worker has.
func listOf(i int, cards []card) string {
	var have []string
	for _, c := range cards[:min(len(cards), 8)] {
		s, others := c.Has[i], ""
		if s.Rows == cards[0].Has[i].Rows && s.differs(cards[0].Has[i]) {
			others = " others"
		}
		have = append(have, fmt.Sprintf("worker %d has %d%s", c.Worker, s.Rows, others))
	}
	return strings.Join(have, ", ")
}

// sameRows refuses rows for a call of all workers, each of which takes its share, if they are not the same.
func sameRows(ctx context.Context, f *fleet.Fleet, call string, rows *dataset.Dataset) error {
	if f.WorkerNum() <= 1 {
		return nil
	}
	own, err := json.Marshal(stockOf(rows))
	if err != nil {
		return err
	}
	all, err := f.AllGatherBytes(ctx, own)
	if err != nil {
		return err
	}
	var cards []card
	for w, text := range all {
		if text == nil { // it is lost
			continue
		}
		c := card{Worker: w}
		if err := json.Unmarshal(text, &c.Has[0]); err != nil {
			return fmt.Errorf("train: %s: worker %d does not describe its rows: %w", call, w, err)
		}
		cards = append(cards, c)
	}
	if slices.ContainsFunc(cards, func(c card) bool { return c.Has[0].differs(cards[0].Has[0]) }) {
		_ = f.BarrierWorker(ctx) // none ends before all know why
		return fmt.Errorf("train: %s: workers have different rows (%s), and each takes its share of rows that all "+
			"have: give all workers the same rows in the same order", call, listOf(0, cards))
	}
	return nil
}

// sum sums the rows of workers with rows of their own. If the number of one is not known, the sum is not.
func (s *shares) sum(cards []card, leads bool) {
	all, digest, known, alike := 0, fnv.New64a(), len(cards) > 0, len(cards) > 1
	for _, c := range cards {
		has := c.Has[0]
		known, alike, all = known && has.Rows >= 0, alike && has.Digest != "" && has.Digest == cards[0].Has[0].Digest,
			all+has.Rows
		fmt.Fprintln(digest, has)
	}
	if known {
		s.stock = stock{all, fmt.Sprintf("%016x", digest.Sum64())}
	}
	if other := func(c card) bool { return c.Format != cards[0].Format }; leads && slices.ContainsFunc(cards, other) {
		slog.Warn("train: workers read their rows by different formats, and the model is saved with the format of " +
			"one: scale columns by the rows of all workers (dataset.MomentsOfAll), not by a worker's own")
	}
	if alike && leads {
		slog.Warn("train: Job.Sharded says that each worker has rows of its own, and all have the same: every worker "+
			"trains on each of them", "rows", cards[0].Has[0].Rows, "workers", len(cards))
	}
}

// deal returns this worker's share of an epoch's rows, and records the number of examples of this worker and of all.
func (s *shares) deal(ctx context.Context, epoch int) (mine *dataset.Dataset, err error) {
	rows, err := s.of(epoch)
	if err != nil {
		return nil, err
	}
	mine = s.own(rows)
	s.mine, _ = mine.Len()
	s.all, _ = rows.Len()
	workers := s.fleet.WorkerNum()
	if s.all > 0 && s.all < workers && !s.job.Sharded {
		return nil, s.refuse(ctx, fmt.Errorf("train: epoch %d has %d rows for %d workers, each of which trains on a "+
			"share of them: give the job more rows, or start no more than %d workers", epoch+1, s.all, workers, s.all))
	}
	if s.job.Sharded {
		if s.all = max(0, s.stock.Rows); s.job.Rows != nil {
			s.all = 0 // what others choose of theirs is unknown
		}
	}
	s.passed, s.left = s.fleet.Position().In(epoch), 0
	return mine, nil
}

// meet finds where workers begin that make their steps together: they have come to different places if a worker was
// lost and the others went on.
func (s *shares) meet(ctx context.Context, mine *dataset.Dataset) (err error) {
	if _, known := mine.Len(); !known { // rows that are filtered, or read as they come
		if s.mine, err = count(ctx, mine); err != nil {
			return err
		}
	}
	at := min(s.passed, s.mine)
	fewest, err := s.fleet.AllReduceInts(ctx, []int64{int64(s.mine - at), int64(at)}, fleet.Min)
	if err == nil {
		s.left, s.passed = int(fewest[0]), int(fewest[1])
	}
	return err
}

// count is the number of rows, found by reading each.
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

// of are the rows of an epoch, of all workers.
func (s *shares) of(epoch int) (*dataset.Dataset, error) {
	if s.days != nil && (s.days.now == nil || s.days.now.epoch != epoch) {
		return nil, fmt.Errorf("train: the rows of day %d are not in memory", epoch+1)
	}
	if s.job.Rows == nil {
		if grouped, is := s.job.together(s.train, s.lanes()); is {
			return grouped.Epoch(epoch), nil
		}
		return s.train.Shuffle(s.job.Seed).Epoch(epoch), nil
	}
	rows := s.job.Rows(epoch, s.train)
	if rows == nil {
		return nil, fmt.Errorf("train: Job.Rows(%d, …) gave no rows: an epoch needs a dataset", epoch)
	}
	return rows, nil
}

// lanes is how many batches of an epoch's rows are made side by side: rows are dealt to them in turn.
func (s *shares) lanes() int {
	if s.job.Sharded || s.fleet == nil {
		return max(s.job.Threads, 1)
	}
	return max(s.job.Threads, 1) * s.fleet.WorkerNum()
}

// together are rows in memory in a random order, for so many shares, in which those of a group that the loss compares
// are next to each other; is reports whether it compares any by a column of the rows.
func (j *Job) together(rows *dataset.Dataset, shares int) (grouped *dataset.Dataset, is bool) {
	column := j.compared(rows)
	if _, memory := rows.Len(); column == "" || !memory {
		return nil, false
	}
	return rows.ShuffleGroups(column, j.Seed, shares), true
}

// compared is the column of the groups within which the loss compares rows; "" if it compares none by a column.
func (j *Job) compared(rows *dataset.Dataset) string {
	for _, a := range verdict.Aims(j.Loss) {
		its := func(c dataset.Column) bool { return a.Group != nil && c.Name == a.Group.Name() }
		if slices.ContainsFunc(rows.Columns(), its) {
			return a.Group.Name()
		}
	}
	return ""
}

// own is this worker's share of rows.
func (s *shares) own(rows *dataset.Dataset) *dataset.Dataset {
	return s.ofWorker(rows, s.fleet.WorkerIndex())
}

// ofWorker is a worker's share of rows, as far as this process has them.
func (s *shares) ofWorker(rows *dataset.Dataset, worker int) *dataset.Dataset {
	switch {
	case !s.job.Sharded:
		return rows.Shard(worker, s.fleet.WorkerNum())
	case worker == s.fleet.WorkerIndex():
		return rows
	}
	return rows.Take(0)
}

// trained reports whether this worker has trained on all of its share of an epoch.
func (s *shares) trained(epoch int) bool {
	rows, err := s.of(epoch)
	if err != nil || epoch >= s.job.Epochs {
		return false
	}
	share, known := s.own(rows).Len()
	return known && s.fleet.Position().In(epoch) >= share
}

// uncounted is the number of a worker's samples in some epochs: as this process has counted them, or of those whose
// number is known.
func (s *shares) uncounted(worker, from, to int) (samples int) {
	for epoch := from; epoch < to; epoch++ {
		n, counted := s.past[epoch]
		switch rows, err := s.of(epoch); {
		case counted && worker == s.fleet.WorkerIndex():
		case s.days != nil:
			n = s.days.rowsOf(epoch, worker)
		case err == nil:
			n, _ = s.ofWorker(rows, worker).Len()
		}
		samples += n
	}
	return samples
}

// behind is the number of samples of a worker's shares after a position; it is exact if the number of every epoch's
// rows is known.
func (s *shares) behind(worker int, at fleet.Position) (samples int, exact bool) {
	exact = true
	for epoch := at.Epoch; epoch < s.job.Epochs; epoch++ {
		all, err := s.of(epoch)
		if err != nil {
			return samples, false
		}
		rows, known := s.ofWorker(all, worker).Len()
		samples, exact = samples+max(rows-at.In(epoch), 0), exact && known && !s.job.Sharded
	}
	return samples, exact
}

// batches are this worker's share of an epoch. In an epoch that was trained in part a batch ends where the checkpoint
// did, even if batches had another size then.
func (s *shares) batches(ctx context.Context, epoch int, mine *dataset.Dataset) iter.Seq2[dataset.Batch, error] {
	of := func(rows *dataset.Dataset) iter.Seq2[dataset.Batch, error] {
		return rows.Prefetch(2).BatchesContext(ctx, s.job.Batch)
	}
	at := s.fleet.Position().In(epoch)
	if at == math.MaxInt || at%s.job.Batch == 0 {
		return of(mine)
	}
	return func(yield func(dataset.Batch, error) bool) {
		for _, rows := range []*dataset.Dataset{mine.Take(at), mine.Skip(at).MayBeEmpty()} {
			for batch, err := range of(rows) {
				if !yield(batch, err) {
					return
				}
			}
		}
	}
}
