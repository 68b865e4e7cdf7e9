package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// chained is a job of some servers that saves checkpoints, each based on the one before as its series says.
type chained struct {
	*Series
	rule     optimizer.Rule
	params   []*optimizer.Param
	servers  []*table.Store
	trackers []*Tracker
	saves    int
}

// newChained is a job whose ids wait for rows, in a table that forgets some of them, and are shown in another; or of these tables alone.
func newChained(t *testing.T, dir string, rule optimizer.Rule, servers int, tables ...string) *chained {
	t.Helper()
	c := &chained{rule: rule, params: []*optimizer.Param{
		{Name: "w", Shape: []int{12}},
		{Name: "waits", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{CountFilter: 3}, MaxBytes: 96 << 10,
			Init: optimizer.Uniform{Low: -1, High: 1}},
		{Name: "shown", Shape: []int{0, 2}, Embedding: true, Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 2}}},
		{Name: "free", Shape: []int{0, 2}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}},
	}}
	if disk == (files.OS{}) {
		disk = quick{}
		t.Cleanup(func() { disk = files.OS{} })
	}
	c.Series, _ = newSeries(dir, 2)
	c.Deltas = 3
	if len(tables) > 0 {
		c.params = slices.DeleteFunc(c.params, func(p *optimizer.Param) bool { return p.Embedding && !slices.Contains(tables, p.Name) })
	}
	for i := range servers {
		c.servers = append(c.servers, c.store(t, i, servers))
		c.trackers = append(c.trackers, NewTracker(c.servers[len(c.servers)-1], true))
	}
	t.Cleanup(c.Release)
	return c
}

// store are the tables of one of some servers, empty.
func (c *chained) store(t *testing.T, server, servers int) *table.Store {
	t.Helper()
	s, n := new(table.Store), 12/servers
	check(t, s.AddBlock(table.Block{Param: c.params[0], Name: "w", Offset: server * n, Values: table.NewDense(n, c.rule)}))
	for _, p := range c.params[1:] {
		sparse, err := table.NewSparse(p, c.rule, table.Options{Shards: 1})
		check(t, err)
		check(t, s.AddTable(sparse))
	}
	return s
}

// train makes some updates of ids that are drawn, and reads others.
func (c *chained) train(t *testing.T, r *rand.Rand, steps, ids int) {
	t.Helper()
	for range steps {
		for i, s := range c.servers {
			step := s.Advance()
			check(t, s.Blocks[0].Values.Push(slices.Repeat([]float32{r.Float32()}, s.Blocks[0].Values.Len()), step))
			for _, sparse := range s.Tables {
				own := map[uint64]bool{}
				for range 20 {
					own[uint64(r.IntN(ids)*len(c.servers)+i)] = true
				}
				all := slices.Sorted(maps.Keys(own))
				check(t, sparse.Pull(all[:10], make([]float32, 20), s.Step()))
				_, err := sparse.Push(all[5:], slices.Repeat([]float32{r.Float32() - 0.5, 1}, len(all)-5), step)
				check(t, err)
			}
			s.Finish(step)
		}
	}
}

// save makes the next checkpoint, and says what it is based on. One that fails is given up when its parts are written.
func (c *chained) save(t *testing.T, fails bool) (dir string, base *Base, bytes int64) {
	t.Helper()
	dir, err := c.Make(t.Context())
	check(t, err)
	c.saves++
	m := Manifest{ID: fmt.Sprint("s", c.saves), Rule: c.rule.Name(), Step: c.servers[0].Step(), Params: Params(c.params)}
	c.Look(t.Context())
	m.Base = c.Base(c.trackers[0].Remade())
	id := ""
	if m.Base != nil {
		id = m.Base.ID
	}
	for i, k := range c.trackers {
		image, err := k.Image(m.ID, id)
		check(t, err)
		p, err := WriteImage(t.Context(), dir, PartName(m.ID, i, len(c.trackers)), image)
		check(t, err)
		image.Close()
		m.Parts, bytes = append(m.Parts, p), bytes+p.Bytes
		if fails && i > 0 {
			check(t, discard(dir, m))
			return dir, m.Base, bytes
		}
	}
	check(t, Commit(dir, m))
	c.Committed(dir)
	c.Prune()
	return dir, m.Base, bytes
}

// taken is all that servers have which load a directory, as text.
func (c *chained) taken(t *testing.T, dir string, servers int) (all []string, err error) {
	t.Helper()
	for i := range servers {
		s := c.store(t, i, servers)
		if _, err := Load(t.Context(), dir, s, c.rule, c.params, func(_ int, id uint64) bool { return id%uint64(servers) == uint64(i) }); err != nil {
			return nil, err
		}
		w, state, step := s.Blocks[0].Values.Snapshot()
		all = append(all, fmt.Sprint(s.Step(), w, state, step))
		for _, sparse := range s.Tables {
			all = append(all, fmt.Sprint("clock ", sparse.Clock(), " waiting ", sparse.Waiters()))
			for r := range sparse.Rows(s.Step()) {
				all = append(all, fmt.Sprintf("%+v", r))
			}
		}
	}
	return all, nil
}

// TestChainsAreWhole: what is loaded from a chain is, to the bits, what is loaded from a whole checkpoint of the same moment, by any number
// of servers, of rows and ids that wait, under every kind of rule, behind saves that failed and days that ended; and everything that
// stays can be loaded.
//
// Promise: [G6] a checkpoint that has only what has changed since the one before has, with that, the very bits of a
// whole one, of rows and of ids that wait, on any servers
// Also: TestAJobGoesOnFromADelta (fleet)
func TestChainsAreWhole(t *testing.T) {
	law.Slow(t)
	rules := map[string]optimizer.Rule{"SGD": optimizer.SGD{LR: 0.1}, "Adam": optimizer.Adam{LR: 0.1}, "dense Adam": optimizer.Adam{LR: 0.1, Dense: true}}
	for name, rule := range law.SomeOf(t, rules) {
		t.Run(name, func(t *testing.T) {
			r, based := rand.New(rand.NewPCG(1, 2)), 0
			c := newChained(t, t.TempDir(), rule, 2)
			for round := range 16 {
				c.train(t, r, 1+r.IntN(4), []int{30, 3000}[round%2])
				if round%3 == 1 {
					for _, s := range c.servers {
						_, err := s.EndPeriod(table.Shrink{Unseen: 1})
						check(t, err)
					}
					c.train(t, r, round%2, 30) // some of the dropped rows come back
				}
				dir, base, _ := c.save(t, round%5 == 3)
				if round%5 == 3 {
					continue
				}
				whole := t.TempDir()
				m := Manifest{ID: "whole", Rule: rule.Name(), Step: c.servers[0].Step(), Params: Params(c.params)}
				for i, s := range c.servers {
					p, err := WritePart(t.Context(), whole, PartName("whole", i, 2), s)
					check(t, err)
					m.Parts = append(m.Parts, p)
				}
				check(t, Commit(whole, m))
				for _, servers := range []int{1, 3} {
					got, err := c.taken(t, dir, servers)
					check(t, err)
					want, err := c.taken(t, whole, servers)
					check(t, err)
					for i := range max(len(got), len(want)) {
						if i >= len(got) || i >= len(want) || got[i] != want[i] {
							t.Fatalf("round %d, %d servers, based on %v: %d lines and %d, the first that differ: %s\n%s",
								round, servers, base, len(got), len(want), got[min(i, len(got)-1)], want[min(i, len(want)-1)])
						}
					}
				}
				if base != nil {
					based++
				}
				c.checkAll(t, round)
			}
			if based < 5 {
				t.Errorf("only %d were based on others", based)
			}
		})
	}
}

// checkAll finds everything whole that is there.
func (c *chained) checkAll(t *testing.T, round int) {
	t.Helper()
	for _, n := range mustNumbers(t, c.Dir) {
		if _, err := whole(filepath.Join(c.Dir, name(n))); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// TestDeltasAreSmall: of a table of which one row in a hundred changes, a checkpoint has little more than these.
//
// Promise: [G6] the bytes of a delta checkpoint are in proportion to the rows that changed; after a failure,
// or where shows have decayed, a whole one follows
// Also: TestWholeOnesFollowFailures
func TestDeltasAreSmall(t *testing.T) {
	c := newChained(t, t.TempDir(), optimizer.Adam{LR: 0.1}, 1)
	free, ids := c.servers[0].Tables[2], make([]uint64, 20_000)
	for i := range ids {
		ids[i] = uint64(i)
	}
	push := func(ids []uint64) {
		_, err := free.Push(ids, make([]float32, 2*len(ids)), c.servers[0].Advance())
		check(t, err)
	}
	push(ids)
	_, _, whole := c.save(t, false)
	for i := range 3 {
		push(ids[200*i:][:200])
		_, base, bytes := c.save(t, false)
		t.Logf("%d of %d bytes for %d of %d rows", bytes, whole, 200, len(ids))
		if base == nil || float64(bytes) > 0.02*float64(whole) {
			t.Errorf("%d bytes, the whole has %d", bytes, whole)
		}
	}
	if _, base, bytes := c.save(t, false); base != nil || bytes < whole {
		t.Errorf("the fourth behind a whole one is based on %v, with %d bytes", base, bytes)
	}
	push(ids[:len(ids)/2+2000])
	c.save(t, false)
	if _, base, _ := c.save(t, false); base != nil {
		t.Error("behind one of half the bytes the next is based on it")
	}
	check(t, free.Set([]uint64{1}, []float32{1, 2}, 0))
	free.Clear()
	if _, base, bytes := c.save(t, true); base != nil || bytes > whole/2 {
		t.Errorf("a table that was emptied is saved with %d bytes, based on %v", bytes, base)
	}
}

// TestWholeOnesFollowFailures: when a whole one fails, the next is whole too, since nobody knows any more what has changed since the one before.
func TestWholeOnesFollowFailures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 2)
	c.train(t, r, 100, 3000)
	for i, fails := range []bool{true, true, false, true, true, false} {
		c.train(t, r, 1, 3000)
		if _, base, _ := c.save(t, fails); (base != nil) != (i > 2) {
			t.Errorf("save %d is based on %v", i, base)
		}
	}
	for _, s := range c.servers {
		for _, sparse := range s.Tables {
			sparse.Clear()
		}
	}
	for _, fails := range []bool{true, false} {
		if _, base, _ := c.save(t, fails); base != nil {
			t.Errorf("behind empty tables one is based on %v", base)
		}
	}
}

// TestTornLinks: without one that it is based on, or with another in its place, a checkpoint counts no more, and neither do those behind it.
func TestTornLinks(t *testing.T) {
	law.Slow(t)
	spoil := map[string]func(t *testing.T, dir string){
		"no manifest.json": func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, manifestName))) },
		"is not in":        func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, listed(t, dir)[1]))) },
		"in its place": func(t *testing.T, dir string) {
			m, err := Read(dir)
			check(t, err)
			m.ID = "another"
			check(t, Commit(dir, m))
		},
	}
	for says, spoil := range spoil {
		t.Run(says, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 4))
			c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 2)
			c.Keep = 9
			c.train(t, r, 100, 3000)
			var dirs []string
			for range 8 { // two chains of four
				c.train(t, r, 1, 3000)
				dir, _, _ := c.save(t, false)
				dirs = append(dirs, dir)
			}
			spoil(t, dirs[5])
			want := dirs[4]
			if says == "in its place" { // which is whole by itself
				want = dirs[5]
			}
			if latest, _, err := Latest(c.Dir); err != nil || filepath.Base(latest) != filepath.Base(want) {
				t.Errorf("the latest is %s, error %v", latest, err)
			}
			for _, dir := range dirs[6:] {
				_, lost := c.taken(t, dir, 1)
				f, err := Examine(t.Context(), dir)
				check(t, err)
				_, verified := Verify(t.Context(), dir)
				for _, err := range []error{lost, f.Damage(), verified} {
					if err == nil || !Torn(err) || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), filepath.Base(dirs[5])) {
						t.Errorf("%s: error %v", filepath.Base(dir), err)
					}
				}
			}
		})
	}
}

// TestPinnedChainsStay: the last one, and one that was pinned, with all that they are based on, and no others.
//
// Promise: [G6] what a checkpoint is based on stays as long as it does; without that it does not count, and neither
// does what is based on it, whatever a crash has left
// Also: TestTornLinks, TestBasesLieBeside, TestEveryCrashOfAChain
func TestPinnedChainsStay(t *testing.T) {
	law.Slow(t)
	r := rand.New(rand.NewPCG(1, 5))
	c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 1)
	c.Keep = 1
	c.train(t, r, 100, 3000)
	for i := range 12 { // three chains of four
		c.train(t, r, 1, 3000)
		dir, _, _ := c.save(t, false)
		if i == 1 {
			check(t, Pin(dir))
		}
	}
	want := []int{12, 11, 10, 9, 2, 1}
	if got := mustNumbers(t, c.Dir); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	for _, n := range want {
		if _, err := c.taken(t, filepath.Join(c.Dir, name(n)), 2); err != nil {
			t.Error(err)
		}
	}
}

// TestBasesLieBeside refuses a manifest that leads elsewhere, or around.
func TestBasesLieBeside(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 1)
	c.train(t, r, 9, 30)
	c.save(t, false)
	c.train(t, r, 1, 30)
	dir, _, _ := c.save(t, false)
	m, err := Read(dir)
	check(t, err)
	for _, base := range []string{"../ckpt-000001", "/ckpt-000001", "ckpt-000002", "ckpt-000003", "ckpt-1", ""} {
		m.Base.Dir = base
		data, err := files.Sign(&m, &m.Sum)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, manifestName), data, 0o600))
		if _, err := c.taken(t, dir, 1); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: got %v, want ErrDamaged", base, err)
		}
	}
}

// TestUnreadableLinksKeepTheirBases: while the manifest of a pinned checkpoint can't be read, what that is based on stays, and it is whole
// when it can be read again; then what nobody needs goes.
func TestUnreadableLinksKeepTheirBases(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 1)
	c.Keep, c.Deltas = 1, 1
	var pinned string
	for i := range 4 {
		c.train(t, r, 30, 100)
		dir, base, _ := c.save(t, false)
		if i == 1 {
			if pinned = dir; base == nil {
				t.Fatal("the second is whole by itself")
			}
			check(t, Pin(pinned))
			manifest := filepath.Join(pinned, manifestName)
			check(t, os.Rename(manifest, manifest+".whole"))
			check(t, os.Mkdir(manifest, 0o755))
		}
	}
	if got := mustNumbers(t, c.Dir); !slices.Equal(got, []int{4, 3, 2, 1}) {
		t.Errorf("beside a manifest that can't be read there are %v", got)
	}
	manifest := filepath.Join(pinned, manifestName)
	check(t, errors.Join(os.Remove(manifest), os.Rename(manifest+".whole", manifest)))
	if _, err := whole(pinned); err != nil {
		t.Error(err)
	}
	for range 2 {
		c.train(t, r, 30, 100)
		c.save(t, false)
	}
	if got := mustNumbers(t, c.Dir); !slices.Equal(got, []int{6, 5, 2, 1}) {
		t.Errorf("there are %v", got)
	}
}

// TestEveryCrashOfAChain stops a job at every operation of a whole checkpoint, of two that are based on it one behind the other, of which the
// last stays, and of the next whole one: the newest that was acknowledged is found, and has what it had.
func TestEveryCrashOfAChain(t *testing.T) {
	law.Slow(t)
	rec := remember(t)
	r := rand.New(rand.NewPCG(1, 7))
	c := newChained(t, rec.root, optimizer.SGD{LR: 0.1}, 1, "free")
	c.Keep, c.Deltas = 1, 2
	c.train(t, r, 40, 100)
	acked, has, based := map[int]int64{}, map[int64][]string{}, 0
	for range 4 {
		c.train(t, r, 1, 100)
		dir, base, _ := c.save(t, false)
		m, err := Read(dir)
		check(t, err)
		acked[len(rec.ops)] = m.Step
		if has[m.Step], err = c.taken(t, dir, 1); base != nil {
			based++
		}
		check(t, err)
	}
	disk = files.OS{}
	states := rec.eachState(t, acked, func(dir string, n int, newest int64) {
		var got []string
		s, _ := newSeries(dir, 1)
		_, err := s.Resume(t.Context(), func(dir string) (err error) { got, err = c.taken(t, dir, 1); return err })
		latest, m, none := Latest(dir)
		if err != nil && !Torn(err) || m.Step < newest || newest > 0 && none != nil {
			t.Errorf("after %d operations update %d was acknowledged, the latest is %s of %d, errors %v, %v", n, newest, latest, m.Step, err, none)
		}
		if got != nil && !slices.Equal(got, has[m.Step]) {
			t.Errorf("after %d operations update %d has other rows than it had", n, m.Step)
		}
	})
	t.Logf("%d operations, %d states", len(rec.ops), states)
	if states < 80 || based != 2 {
		t.Errorf("only %d states, %d of them based on others", states, based)
	}
}

func mustNumbers(t *testing.T, dir string) []int {
	t.Helper()
	all, err := numbers(dir)
	check(t, err)
	return all
}

// TestDropsMakeRoomFirst: rows that two servers of a bounded table held, of which one has dropped many and the other has many new ones, fit on
// one server, though not before the rows are dropped.
func TestDropsMakeRoomFirst(t *testing.T) {
	c := newChained(t, t.TempDir(), optimizer.SGD{LR: 0.1}, 0, "free")
	free := c.params[1]
	free.MaxBytes = 1000 * int64(table.RowBytes(free, c.rule))
	for i := range 2 {
		c.servers = append(c.servers, c.store(t, i, 2))
		c.trackers = append(c.trackers, NewTracker(c.servers[i], true))
	}
	push := func(server, from, to int) {
		ids := make([]uint64, 0, to-from)
		for id := from; id < to; id++ {
			ids = append(ids, uint64(2*id+server))
		}
		_, err := c.servers[server].Tables[0].Push(ids, make([]float32, 2*len(ids)), c.servers[server].Advance())
		check(t, err)
	}
	push(0, 0, 450)
	push(1, 0, 450)
	c.save(t, false)
	for _, s := range c.servers {
		s.Tick()
	}
	push(0, 0, 600)
	push(1, 0, 300)
	for _, s := range c.servers {
		_, err := s.EndPeriod(table.Shrink{Unseen: 1})
		check(t, err)
	}
	dir, base, _ := c.save(t, false)
	if base == nil {
		t.Fatal("it is based on none")
	}
	rows := 0
	got, err := c.taken(t, dir, 1)
	for _, line := range got {
		if strings.HasPrefix(line, "{ID:") {
			rows++
		}
	}
	if err != nil || rows != 900 {
		t.Errorf("%d rows on one server, want 900: %v", rows, err)
	}
}
