package train_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

var (
	manyOf = flag.Int("days", 6, "days of TestManyDays")
	manyBy = flag.Int("rows", 1500, "rows of each of them")
)

// manyDays is a job of days whose popular ids change by the day, of which a role is killed each day.
type manyDays struct {
	mortal
	Journal, Kills, Bounded bool
	Evict                   optimizer.Evict
}

// manyIDs are the ids of a day, of which a quarter is new.
func manyIDs() int { return 2 * *manyBy }

// writeMany writes the days: more than half of a day's rows have ids of the days before.
func writeMany(t *testing.T, dir string) {
	r := rand.New(rand.NewPCG(3, 1))
	for day := range *manyOf {
		at := filepath.Join(dir, "logs", fmt.Sprintf("04%02d", day+1))
		law.Check(t, os.MkdirAll(at, 0o777))
		var parts [8]strings.Builder
		for i := range *manyBy {
			id, label := int64(float64(manyIDs())*math.Pow(r.Float64(), 3))+int64(day*manyIDs()/4), 0
			if odds := 3 * math.Sin(float64(id)*1.7); r.Float64() < 1/(1+math.Exp(-odds)) {
				label = 1
			}
			fmt.Fprintf(&parts[i%len(parts)], "%d,%d,%d\n", label, id, day**manyBy+i)
		}
		for i := range parts {
			law.Check(t, os.WriteFile(filepath.Join(at, fmt.Sprintf("part-%d", i)), []byte(parts[i].String()), 0o666))
		}
		law.Check(t, os.WriteFile(filepath.Join(at, "_SUCCESS"), nil, 0o666))
	}
}

// bytes are the bound of a process's table: half of what its rows would take in the end.
func (d manyDays) bytes() int64 {
	return int64((manyIDs()+manyIDs()/4*(*manyOf-1))/max(1, d.Servers)/2) * 48
}

// job is that of a process.
func (d manyDays) job(logs, dir string, killed func(day int, r *train.Run, step int) error) train.Job {
	g := nn.NewGraph(1)
	label := g.Input("y", 1)
	o := nn.EmbeddingOptions{Name: "rows", Dim: 1, Init: optimizer.Constant{}, Evict: d.Evict}
	if d.Bounded {
		o.MaxBytes = d.bytes()
	}
	pred := nn.Sigmoid(nn.Embedding(g.IDs("id", 1), o))
	line := nn.Embedding(g.IDs("sample", 1), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})
	days := train.Days{Dir: logs, Last: fmt.Sprintf("04%02d", *manyOf), Publish: train.Publish{Dir: filepath.Join(dir, "serving"), Deltas: 2, Keep: 2}}
	j := train.Job{Loss: nn.Add(nn.Mean(nn.LogLoss(pred, label)), nn.Mean(nn.Custom(countSamples{}, line))),
		Metrics: []*nn.Node{nn.AUCOf(pred, label, 1<<14).Named("AUC")}, Outputs: []*nn.Node{pred},
		Rule: optimizer.PerParam{Rule: optimizer.Adagrad{LR: 1}, By: map[string]optimizer.Rule{"ledger": optimizer.SGD{LR: 1}}},
		Options: train.Options{Mode: d.Mode, Batch: d.Batch, Checkpoint: filepath.Join(dir, "checkpoints"),
			Out: filepath.Join(dir, "out")},
		Files: train.Files{Format: dataset.CSV{Fields: []string{"y", "id", "sample"}, Schema: []dataset.CSVColumn{
			{Column: dataset.Floats("y")}, {Column: dataset.IDs("id")}, {Column: dataset.IDs("sample")}}}},
		Days: &days, Stdout: io.Discard}
	s, err := j.Options.Strategy()
	if err != nil {
		panic(err)
	}
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(5*time.Second), strategy.Duration(time.Second)
	if s.StartTimeout = strategy.Duration(time.Minute); d.Mode == "sync" {
		s.Weighting = strategy.WeightPushes
	}
	if d.Journal {
		s.Recovery.Journal, s.Recovery.JournalDir = strategy.JournalProcess, filepath.Join(dir, "journals")
	}
	j.Strategy = &s
	j.Hooks = []train.Hooks{{
		Begin: func(_ context.Context, r *train.Run) error { return killed(-1, r, 0) },
		Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			time.Sleep(300 * time.Millisecond)
			return killed(r.Epoch, r, so.Steps)
		},
		End: func(_ context.Context, r *train.Run) error { return killed(-2, r, 0) },
	}}
	return j
}

// bases compares the base of each day with the rows that the servers have at its end.
type bases struct {
	dir      string
	mu       sync.Mutex
	day      int // whose base was not compared, from 1; 0 for none
	rows     map[uint64]uint32
	compared int
	wrong    []string
}

func (b *bases) hooks() train.Hooks {
	compares := func(_ context.Context, r *train.Run) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.day == 0 || r.Epoch < b.day-1 || !r.Leads() {
			return nil
		}
		m, err := serve.Load(filepath.Join(b.dir, "bases", fmt.Sprintf("04%02d", b.day)))
		if err != nil {
			return err
		}
		served := map[uint64]uint32{}
		for _, p := range m.Graph.Params() {
			err := p.Rows.EachRow(func(ids []uint64, w []float32) error {
				for i, id := range ids {
					served[id] = math.Float32bits(w[i])
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if len(served) == 0 || !maps.Equal(served, b.rows) {
			b.wrong = append(b.wrong, fmt.Sprintf("the base of day %d has %d rows, the servers have %d, or others", b.day, len(served), len(b.rows)))
		}
		b.day = 0
		b.compared++
		return nil
	}
	return train.Hooks{EpochBegin: compares, End: compares, EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
		if !r.Leads() {
			return nil
		}
		time.Sleep(3 * time.Second) // until a table that is nearly full has made room
		rows := map[uint64]uint32{}
		for row, err := range r.Fleet.Rows(ctx, "rows") {
			if err != nil {
				return err
			}
			rows[row.ID] = math.Float32bits(row.W[0])
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.day, b.rows = r.Epoch+1, rows
		return nil
	}}
}

// play plays the job in virtual time.
func (d manyDays) play(logs, dir string, seed uint64) (*operator, *bases) {
	b := &bases{dir: filepath.Join(dir, "serving")}
	r := rand.New(rand.NewPCG(seed, 30))
	roles, by, at := make([]string, *manyOf), make([]int, *manyOf), make([]int, *manyOf)
	for day := range roles {
		roles[day], by[day] = fmt.Sprint("worker ", r.IntN(d.Workers)), r.IntN(d.Workers)
		if r.IntN(2) == 0 && d.Servers > 0 {
			roles[day] = fmt.Sprint("server ", r.IntN(d.Servers))
		}
		at[day] = 1 + r.IntN(*manyBy/d.Workers/d.Batch)
	}
	return d.played(dir, func(o *operator) {
		o.most = 10 * *manyOf
		o.days = func(_ string, strike strikes) train.Job {
			j := d.job(logs, dir, func(day int, r *train.Run, step int) error {
				switch {
				case day == -1:
					return strike("begin", r, 0)
				case day == -2:
					return strike("end", r, 0)
				}
				o.mu.Lock()
				defer o.mu.Unlock()
				if role := roles[day]; d.Kills && role != "" && step == at[day] && r.Fleet.WorkerIndex() == by[day] {
					roles[day] = ""
					o.note("%s is killed on day %d, at step %d", role, day, step)
					go o.lives[role]()
				}
				return nil
			})
			j.Hooks = append(j.Hooks, b.hooks())
			return j
		}
	}), b
}

// auc is the mean of the days' AUC before training.
func (o *operator) auc() (mean float64) {
	days := 0.0
	for _, e := range o.got.History {
		if v, is := e.Values["test AUC"]; is {
			mean, days = mean+v, days+1
		}
	}
	return mean / days
}

// TestManyDays: a job of many days of which a role is killed each day, with checkpoints alone or with journals, trains every row once as
// far as its mode promises, and predicts as one that nothing disturbs; so it does on a table of half the memory that its ids would need,
// which turns ids away without an Evict, and is worse then. Each day's base has the servers' rows, bit for bit. `.ci/outside days` plays a month.
//
// Promise: [G6] a month of days with a kill a day, on half the memory that its ids need, predicts as an undisturbed one
func TestManyDays(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	writeMany(t, dir)
	slack, n := 0.005, 0
	if *manyBy >= 30_000 {
		slack = 0.001
	}
	play := func(t *testing.T, d manyDays) *operator {
		var o *operator
		var b *bases
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		synctest.Test(t, func(*testing.T) { o, b = d.play(logs, at, uint64(n)) })
		if len(b.wrong) > 0 || b.compared < *manyOf-2 {
			t.Errorf("%+v: of %d bases that were compared: %s\n%s", d, b.compared, strings.Join(b.wrong, "\n"), strings.Join(o.log, "\n"))
		}
		alone := manyDays{mortal: mortal{Workers: 1}, Bounded: d.Bounded, Evict: d.Evict}
		got, want := ledgerOf(t, at, alone.job(logs, t.TempDir(), nil)), once(*manyOf**manyBy)
		more, less := 0.0, 0.0
		for i := range want {
			more, less = more+max(0, got[i]-1), less+max(0, 1-got[i])
		}
		may := 0.0
		if d.Kills && d.Mode != "sync" && d.Mode != "ssp" {
			may = float64(2 * d.Batch * *manyOf * d.Workers)
		}
		if more > may || less > 0 || may == 0 && !maps.Equal(got, want) {
			t.Errorf("%+v: %v samples too often, may be %v; %v missing\n%s", d, more, may, less, strings.Join(o.log, "\n"))
		}
		t.Logf("%s journal=%t kills=%t bounded=%t evict=%q: AUC %.4f, %v of %d samples twice", d.Mode, d.Journal, d.Kills, d.Bounded, d.Evict.By,
			o.auc(), more, len(want))
		return o
	}
	unused := optimizer.Evict{By: optimizer.EvictUnused}
	two := mortal{Servers: 2, Workers: 2, Batch: max(50, *manyBy/60)}
	for _, mode := range trial.SomeOf(t, map[string]string{"sync": "sync", "async": "async", "half_async": "half_async", "ssp": "ssp"}) {
		t.Run(mode, func(t *testing.T) {
			two.Mode = mode
			calm := play(t, manyDays{mortal: two})
			away := play(t, manyDays{mortal: two, Bounded: true})
			for _, journal := range []bool{false, true} {
				if o := play(t, manyDays{mortal: two, Journal: journal, Kills: true}); o.auc() < calm.auc()-slack {
					t.Errorf("journal %t: with kills the AUC is %.4f, without %.4f", journal, o.auc(), calm.auc())
				}
				o := play(t, manyDays{mortal: two, Journal: journal, Kills: true, Bounded: true, Evict: unused})
				lost := calm.auc() - away.auc() // few days leave a bounded table room
				if o.auc() < calm.auc()-2*slack || lost > 2*slack && o.auc() < away.auc() {
					t.Errorf("journal %t: with kills on half the memory the AUC is %.4f, undisturbed %.4f, with ids turned away %.4f", journal, o.auc(),
						calm.auc(), away.auc())
				}
			}
		})
	}
}
