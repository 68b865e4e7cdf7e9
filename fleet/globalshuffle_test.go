package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
)

// hundredRows are three files with the rows 0 to 99.
func hundredRows(t *testing.T) []string {
	t.Helper()
	var texts [3]strings.Builder
	for i := range 100 {
		fmt.Fprintf(&texts[i%7%3], "x:%d\n", i)
	}
	dir := t.TempDir()
	var paths []string
	for i := range texts {
		paths = append(paths, filepath.Join(dir, fmt.Sprint("part-", i)))
		if err := os.WriteFile(paths[i], []byte(texts[i].String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// TestGlobalShuffleOnAJob is the original's order of calls: each worker loads its files, the next day's are under way, and all shuffle. The
// hundred rows stay a hundred, on servers, among workers and alone.
func TestGlobalShuffleOnAJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	paths := hundredRows(t)
	for _, workers := range []int{1, 2, 3} {
		meeting(t, workers, func(ctx context.Context, f *fleet.Fleet) error {
			mine, err := dataset.FileShard(paths, f.WorkerIndex(), f.WorkerNum())
			if err != nil {
				return err
			}
			format := dataset.SlotText{Slots: []dataset.SlotColumn{{Column: dataset.Ints("x")}}}
			d := &dataset.InMemoryDataset{Format: format, FileList: mine, BatchSize: 100}
			err = errors.Join(d.PreloadIntoMemory(ctx), d.WaitPreloadDone())
			d.SetFileList(paths[0])
			err = errors.Join(err, d.PreloadIntoMemory(ctx))
			for pass := range uint64(2) {
				err = errors.Join(err, d.GlobalShuffle(ctx, f, pass))
				rows := []float64{}
				for batch, failed := range d.Batches() {
					if failed != nil {
						return failed
					}
					for _, x := range batch["x"].Int64s() {
						rows = append(rows, float64(x))
					}
				}
				all, failed := f.AllGather(ctx, rows)
				err = errors.Join(err, failed)
				together := slices.Concat(all...)
				if slices.Sort(together); len(together) != 100 || together[0] != 0 || len(slices.Compact(together)) != 100 {
					t.Errorf("pass %d: worker %d has %d rows, all have %v", pass, f.WorkerIndex(), len(rows), together)
				}
				if len(rows) < 60/workers || slices.IsSorted(rows) {
					t.Errorf("pass %d: worker %d has %v", pass, f.WorkerIndex(), rows)
				}
			}
			return errors.Join(err, d.WaitPreloadDone())
		})
	}
}

// TestAllGatherBytes: nobody's bytes are nobody's but of one who has left.
func TestAllGatherBytes(t *testing.T) {
	t.Parallel()
	meeting(t, 3, func(ctx context.Context, f *fleet.Fleet) error {
		for round := range 3 { // server 0 forgets each when all have come to the next
			var mine []byte
			if f.WorkerIndex() > 0 {
				mine = fmt.Appendf(nil, "%d of round %d", f.WorkerIndex(), round)
			}
			all, err := f.AllGatherBytes(ctx, mine)
			if err != nil {
				return err
			}
			for w, b := range all {
				if want := fmt.Sprintf("%d of round %d", w, round); b == nil || w == 0 && len(b) > 0 || w > 0 && string(b) != want {
					t.Errorf("round %d: worker %d is told that %d gave %q", round, f.WorkerIndex(), w, b)
				}
			}
		}
		return nil
	})
}
