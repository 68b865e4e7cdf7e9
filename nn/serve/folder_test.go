package serve

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/nn"
)

// follower is a scorer beside the trainer that saves what it follows.
type follower struct {
	t      *testing.T
	r      *rand.Rand
	toy    *toy
	keeper *keeper
	saved  map[string]map[uint64][]float32 // rows of the last base or delta
	chain  []string                        // versions of the base and its deltas
	dir    string
	deltas string // that have not been taken yet
	scorer *Scorer
}

func newFollower(t *testing.T, seed uint64) *follower {
	n := newToy(7)
	n.pred.Named("click")
	f := &follower{t: t, r: rand.New(rand.NewPCG(seed, 7)), toy: n, keeper: minimise(t, n.loss, 0.3), dir: t.TempDir()}
	f.saveBase()
	var err error
	if f.scorer, err = OpenScorer(f.dir, ScorerOptions{Deltas: f.deltas}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *follower) model() nn.InferenceModel { return nn.Inference(f.toy.pred).WithFormat(toyFormat()) }

func (f *follower) train() {
	must(f.t, nn.NewExecutor(f.toy.g), f.toy.batch(f.r.Uint32(), 8), f.toy.loss)
	for _, id := range slices.Sorted(maps.Keys(f.keeper.rows["open"])) {
		if f.r.IntN(6) == 0 { // as Shrink drops rows
			delete(f.keeper.rows["open"], id)
		}
	}
}

// note keeps what was saved, to tell what changes.
func (f *follower) note() {
	f.saved = map[string]map[uint64][]float32{}
	for name, rows := range f.keeper.rows {
		f.saved[name] = map[uint64][]float32{}
		for id, w := range rows {
			f.saved[name][id] = slices.Clone(w)
		}
	}
}

func (f *follower) saveBase() {
	f.t.Helper()
	f.train()
	saveSigned(f.t, f.dir, f.model(), f.keeper)
	v, err := Version(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.chain = []string{v}
	if f.deltas == "" {
		f.deltas = f.t.TempDir()
	}
	f.note()
}

// saveDelta saves the rows that have changed, and the ids of those that are gone.
func (f *follower) saveDelta() (dir string) {
	f.t.Helper()
	f.train()
	changed := *f.keeper
	changed.rows, changed.gone = map[string]map[uint64][]float32{}, map[string][]uint64{}
	for name, rows := range f.keeper.rows {
		changed.rows[name] = maps.Clone(rows)
		for id, was := range f.saved[name] {
			if slices.Equal(was, rows[id]) {
				delete(changed.rows[name], id)
			}
			if rows[id] == nil {
				changed.gone[name] = append(changed.gone[name], id)
			}
		}
		slices.Sort(changed.gone[name])
	}
	n := len(f.chain)
	dir = filepath.Join(f.deltas, fmt.Sprint(f.chain[0][:8], n))
	f.chain = append(f.chain, saveDelta(f.t, dir, modelfiles.Delta{Base: f.chain[0], Follows: f.chain[n-1], Number: n}, f.model(), &changed))
	f.note()
	return dir
}

// agrees compares the scorer with the trainer: scores and rows, by their bits.
func (f *follower) agrees(what string) {
	f.t.Helper()
	for name, t := range f.scorer.now.Load().model.tables {
		rows := map[uint64][]float32{}
		err := t.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				rows[id] = slices.Clone(w[i*len(w)/len(ids) : (i+1)*len(w)/len(ids)])
			}
			return nil
		})
		if err != nil || !maps.EqualFunc(rows, f.keeper.rows[name], slices.Equal) {
			f.t.Fatalf("%s: table %s: %v, want %v", what, name, rows, f.keeper.rows[name])
		}
	}
	feeds := f.toy.batch(f.r.Uint32(), 20)
	got, err := f.scorer.Score(f.t.Context(), feeds)
	want, untrained := nn.NewExecutor(f.toy.g).Eval(f.t.Context(), feeds, f.toy.pred)
	if err != nil || untrained != nil || !slices.Equal(bitsOf(got.Values[0]), bitsOf(want[0].Float32s())) {
		f.t.Fatalf("%s: scores %v, %v, want %v, %v", what, got, err, want, untrained)
	}
}

// TestScorersFollow: whatever a scorer takes, one delta or several, another base or the same, while deltas before are folded or not: it has the
// rows of the trainer by their bits, those that were dropped too.
func TestScorersFollow(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	for seed := range uint64(2) {
		f := newFollower(t, seed)
		for round := range 25 {
			switch f.r.IntN(6) {
			case 0:
				f.saveBase()
				if took, err := f.scorer.Reload(); !took || err != nil {
					t.Fatal(took, err)
				}
			case 1:
				for range 1 + f.r.IntN(3*overlay.Few) {
					f.saveDelta()
				}
				if took, err := f.scorer.Reload(); !took || err != nil {
					t.Fatal(took, err)
				}
			case 2:
				f.scorer.folder.goroutine.Wait()
			default:
				law.Check(t, f.scorer.TakeDelta(f.saveDelta()))
			}
			f.agrees(fmt.Sprint("seed ", seed, ", round ", round))
		}
	}
}

// TestFoldingEnds: a scorer that is not closed has nothing going on when its deltas are few, one that was closed begins nothing and goes on
// taking deltas.
func TestFoldingEnds(t *testing.T) {
	t.Parallel()
	f := newFollower(t, 1)
	layers := func() bool { return f.scorer.now.Load().model.fold(overlay.Few) }
	for range 2 * overlay.Few {
		law.Check(t, f.scorer.TakeDelta(f.saveDelta()))
	}
	f.scorer.folder.goroutine.Wait()
	if layers() || f.scorer.folder.works {
		t.Error("it ended before deltas were few")
	}
	f.scorer.Close()
	for range 2 * overlay.Few {
		law.Check(t, f.scorer.TakeDelta(f.saveDelta()))
	}
	f.scorer.folder.goroutine.Wait()
	if !layers() {
		t.Error("it folds though it was closed")
	}
	f.agrees("closed")
	f.scorer.Close()
}
