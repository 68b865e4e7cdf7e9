package local_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// toy is an objective of a dense param, a frozen one and two embeddings.
type toy struct {
	w, still *optimizer.Param
	emb, top *optimizer.Param
	trainer  optimizer.Trainer
}

func newToy() *toy {
	init := optimizer.Uniform{Low: -1, High: 1}
	return &toy{
		w:     &optimizer.Param{Name: "w", Shape: []int{5, 3}, W: make([]float32, 15), G: make([]float32, 15), Init: init},
		still: &optimizer.Param{Name: "still", Shape: []int{2}, W: make([]float32, 2), Frozen: true, Init: init},
		emb:   &optimizer.Param{Name: "emb", Shape: []int{0, 4}, Embedding: true, Init: init},
		top:   &optimizer.Param{Name: "top", Shape: []int{100, 2}, Embedding: true, Init: init},
	}
}

func (o *toy) Params() []*optimizer.Param { return []*optimizer.Param{o.w, o.still, o.emb, o.top} }
func (o *toy) Bind(t optimizer.Trainer)   { o.trainer = t }

func (o *toy) step(ids ...uint64) *optimizer.Step {
	s := &optimizer.Step{Samples: 1}
	for _, p := range []*optimizer.Param{o.emb, o.top} {
		n := len(ids) * p.Dim()
		s.Rows = append(s.Rows, optimizer.Rows{Param: p, IDs: ids, W: make([]float32, n), G: make([]float32, n)})
	}
	return s
}

func fill(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, want, got []float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

func open(t *testing.T, tr optimizer.Trainer, o *toy) optimizer.Session {
	t.Helper()
	s, err := tr.Open(o.Params())
	check(t, err)
	return s
}

// row is the twin of one row or dense variable.
type row struct{ w, state []float32 }

func (r row) update(rule optimizer.Rule, g []float32, s optimizer.State) {
	rule.Update(r.w, g, r.state, &s)
}

func newRow(rule optimizer.Rule, w []float32) row {
	r := row{w, make([]float32, rule.StateLen(len(w)))}
	rules.InitState(rule, r.state)
	return r
}

// One session is the rules applied one after the other: dense params and rows with the number of the End.
func TestOneSessionIsTheRule(t *testing.T) {
	for _, rule := range []optimizer.Rule{optimizer.SGD{LR: 0.1}, optimizer.Adam{LR: 0.1}, optimizer.Adagrad{LR: 0.1}} {
		t.Run(rule.Name(), func(t *testing.T) {
			o := newToy()
			trainer, err := local.Minimize(o, rule)
			check(t, err)
			s, ctx, r := open(t, o.trainer, o), t.Context(), rand.New(rand.NewPCG(1, 1))
			w := make([]float32, 15)
			o.w.InitDense(w)
			dense, rows := newRow(rule, w), map[uint64]row{}
			for number := int64(1); number <= 6; number++ {
				step := o.step(uint64(number)%3, 10+uint64(number)%2)
				check(t, s.Begin(ctx, step))
				same(t, "w at Begin", dense.w, o.w.W)
				fill(r, o.w.G)
				fill(r, step.Rows[0].G)
				check(t, s.End(ctx, step))
				dense.update(rule, o.w.G, optimizer.State{Step: number})
				for i, id := range step.Rows[0].IDs {
					twinRow(rows, rule, o.emb, id).update(rule, step.Rows[0].G[4*i:][:4], optimizer.State{Step: number, Row: true})
				}
			}
			got, err := trainer.Dense("w")
			check(t, err)
			same(t, "w", dense.w, got)
			for id, want := range rows {
				got, err := trainer.Rows("emb", []uint64{id})
				check(t, err)
				same(t, fmt.Sprint("row ", id), want.w, got)
			}
			if trainer.Step() != 6 {
				t.Fatalf("step %d, want 6", trainer.Step())
			}
		})
	}
}

func twinRow(rows map[uint64]row, rule optimizer.Rule, p *optimizer.Param, id uint64) row {
	if _, ok := rows[id]; !ok {
		w := make([]float32, p.Dim())
		p.InitRow(w, id)
		rows[id] = newRow(rule, w)
	}
	return rows[id]
}

// Rows of Adam with Dense move while other rows are trained.
func TestSweptRowsMoveUntouched(t *testing.T) {
	rule := optimizer.Adam{LR: 0.1, Dense: true}
	o := newToy()
	trainer, err := local.Minimize(o, rule)
	check(t, err)
	s, ctx := open(t, trainer, o), t.Context()
	w := make([]float32, 4)
	o.emb.InitRow(w, 1)
	twin := newRow(rule, w)
	for number := int64(1); number <= 5; number++ {
		ids, g := []uint64{2}, []float32{0, 0, 0, 0}
		if number == 1 {
			ids, g = []uint64{1}, []float32{1, 2, 3, 4}
		}
		step := o.step(ids...)
		check(t, s.Begin(ctx, step))
		copy(step.Rows[0].G, g)
		check(t, s.End(ctx, step))
		twin.update(rule, g, optimizer.State{Step: number, Row: true})
	}
	got, err := trainer.Rows("emb", []uint64{1})
	check(t, err)
	same(t, "row 1", twin.w, got)
}

// A second session sees what the first did, and the first what the second did.
func TestSessionsSeeEachOther(t *testing.T) {
	a, b := newToy(), newToy()
	trainer, err := local.New(a.Params(), optimizer.SGD{LR: 1})
	check(t, err)
	check(t, trainer.SetDense("w", make([]float32, 15)))
	check(t, trainer.SetRows("emb", []uint64{7}, make([]float32, 4)))
	sessions, ctx := []optimizer.Session{open(t, trainer, a), open(t, trainer, b)}, t.Context()
	for turn := range 6 {
		o, s := []*toy{a, b}[turn%2], sessions[turn%2]
		step := o.step(7)
		check(t, s.Begin(ctx, step))
		if o.w.W[3] != float32(turn) || step.Rows[0].W[2] != float32(turn) {
			t.Fatalf("turn %d begins with w %v, row %v", turn, o.w.W[3], step.Rows[0].W[2])
		}
		for i := range o.w.G {
			o.w.G[i] = -1
		}
		for i := range step.Rows[0].G {
			step.Rows[0].G[i] = -1
		}
		check(t, s.End(ctx, step))
	}
}

// Many sessions at once: no update is lost.
func TestManySessions(t *testing.T) {
	const workers, steps = 4, 50
	trainer, err := local.New(newToy().Params(), optimizer.SGD{LR: 1})
	check(t, err)
	check(t, trainer.SetDense("w", make([]float32, 15)))
	check(t, trainer.SetRows("emb", []uint64{7}, make([]float32, 4)))
	var wg sync.WaitGroup
	for range workers {
		o := newToy()
		s := open(t, trainer, o)
		wg.Go(func() {
			for range steps {
				if err := trainOnes(t.Context(), s, o); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	w, err := trainer.Dense("w")
	check(t, err)
	rows, err := trainer.Rows("emb", []uint64{7})
	check(t, err)
	if w[0] != workers*steps || w[14] != workers*steps || rows[3] != workers*steps {
		t.Fatalf("w %v, row %v, want %d everywhere", w, rows, workers*steps)
	}
}

func trainOnes(ctx context.Context, s optimizer.Session, o *toy) error {
	step := o.step(7)
	if err := s.Begin(ctx, step); err != nil {
		return err
	}
	for i := range o.w.G {
		o.w.G[i] = -1
	}
	for i := range step.Rows[0].G {
		step.Rows[0].G[i] = -1
	}
	return s.End(ctx, step)
}

func TestEvalChangesNothing(t *testing.T) {
	o := newToy()
	trainer, err := local.Minimize(o, optimizer.SGD{LR: 1})
	check(t, err)
	s, ctx := open(t, trainer, o), t.Context()
	step := o.step(7)
	step.Eval = true
	o.w.G[0] = 5
	check(t, s.Begin(ctx, step))
	check(t, s.End(ctx, step))
	want := make([]float32, 2)
	o.top.InitRow(want, 7)
	same(t, "missing row of an embedding with a height", want, step.Rows[1].W)
	same(t, "missing row of an open embedding", make([]float32, 4), step.Rows[0].W)
	rows, _ := trainer.Store().Table("emb")
	if rows.Len() != 0 || trainer.Step() != 0 {
		t.Fatalf("an evaluation left %d rows and step %d", rows.Len(), trainer.Step())
	}
}

func TestFrozenParamsStay(t *testing.T) {
	o := newToy()
	o.top.Frozen = true
	trainer, err := local.Minimize(o, optimizer.SGD{LR: 1})
	check(t, err)
	s := open(t, trainer, o)
	step := o.step(7)
	check(t, s.Begin(t.Context(), step))
	fill(rand.New(rand.NewPCG(1, 1)), step.Rows[1].G)
	check(t, s.End(t.Context(), step))
	want := make([]float32, 2)
	o.top.InitRow(want, 7)
	got, err := trainer.Rows("top", []uint64{7})
	check(t, err)
	same(t, "frozen row", want, got)
	o.still.InitDense(want)
	same(t, "frozen weights", want, o.still.W)
}

func TestMinimizeRefuses(t *testing.T) {
	twice := newToy()
	twice.still.Name = "w"
	both := newToy()
	both.top.Name = "emb"
	broken := newToy()
	broken.w.G = nil
	tests := []struct {
		o    *toy
		rule optimizer.Rule
		says string
	}{
		{newToy(), nil, "missing update rule"},
		{newToy(), optimizer.Adam{Beta1: 2}, "Beta1 is 2"},
		{twice, optimizer.SGD{}, `two dense blocks are named "w"`},
		{both, optimizer.SGD{}, `two sparse tables are named "emb"`},
		{broken, optimizer.SGD{}, "needs room for 15 gradients"},
	}
	for _, tt := range tests {
		_, err := local.Minimize(tt.o, tt.rule)
		if err == nil || !strings.Contains(err.Error(), tt.says) || tt.o.trainer != nil {
			t.Errorf("error %v (bound: %t), want one that says %q", err, tt.o.trainer != nil, tt.says)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	trainer, err := local.New(newToy().Params(), optimizer.SGD{})
	check(t, err)
	change := func(do func(*toy)) *toy { o := newToy(); do(o); return o }
	tests := map[string]*toy{
		`unknown dense param "other"`: change(func(o *toy) { o.w.Name = "other" }),
		`unknown embedding "other"`:   change(func(o *toy) { o.emb.Name = "other" }),
		"has shape [3 5]":             change(func(o *toy) { o.w.Shape = []int{3, 5} }),
		"has shape [100 3]":           change(func(o *toy) { o.top.Shape = []int{100, 3} }),
		"(frozen: true)":              change(func(o *toy) { o.w.Frozen = true }),
		"needs 15 weights":            change(func(o *toy) { o.w.W = nil }),
	}
	for says, o := range tests {
		if _, err := trainer.Open(o.Params()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}

func TestSessionsRefuse(t *testing.T) {
	ctx, cancelled := t.Context(), cancelledContext()
	alien := &optimizer.Param{Name: "alien", Shape: []int{0, 4}, Embedding: true}
	tests := []struct {
		name string
		do   func(s optimizer.Session, o *toy) error
		says string
	}{
		{"End first", func(s optimizer.Session, o *toy) error { return s.End(ctx, o.step(1)) }, "End without Begin"},
		{"Begin twice", func(s optimizer.Session, o *toy) error {
			return errors.Join(s.Begin(ctx, o.step(1)), s.Begin(ctx, o.step(1)))
		}, "not ended"},
		{"cancelled", func(s optimizer.Session, o *toy) error { return s.Begin(cancelled, o.step(1)) }, "canceled"},
		{"id above the height", func(s optimizer.Session, o *toy) error { return s.Begin(ctx, o.step(100)) }, "id 100"},
		{"unknown rows", func(s optimizer.Session, o *toy) error {
			step := o.step(1)
			step.Rows[0].Param = alien
			return s.Begin(ctx, step)
		}, `unknown embedding "alien"`},
		{"short gradients", func(s optimizer.Session, o *toy) error {
			step := o.step(1)
			err := s.Begin(ctx, step)
			step.Rows[1].G = nil
			return errors.Join(err, s.End(ctx, step))
		}, `0 gradients for 1 rows of "top"`},
		{"closed", func(s optimizer.Session, o *toy) error {
			return errors.Join(s.Close(ctx), s.Close(ctx), s.Begin(ctx, o.step(1)))
		}, "closed"},
	}
	for _, tt := range tests {
		o := newToy()
		trainer, err := local.Minimize(o, optimizer.SGD{LR: 1})
		check(t, err)
		s := open(t, trainer, o)
		if err := tt.do(s, o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one that says %q", tt.name, err, tt.says)
		}
		if err := s.Begin(ctx, o.step(1)); err == nil {
			t.Errorf("%s: the session goes on", tt.name)
		}
		if trainer.Step() != 0 {
			t.Errorf("%s: step %d", tt.name, trainer.Step())
		}
	}
}

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestSettersRefuse(t *testing.T) {
	trainer, err := local.New(newToy().Params(), optimizer.SGD{})
	check(t, err)
	for says, err := range map[string]error{
		`unknown dense param "emb"`:    trainer.SetDense("emb", nil),
		`param "w": table: wrong`:      trainer.SetDense("w", nil),
		`unknown embedding "w"`:        trainer.SetRows("w", nil, nil),
		`param "top": table: id out`:   trainer.SetRows("top", []uint64{100}, make([]float32, 2)),
		`param "emb": table: wrong nu`: trainer.SetRows("emb", []uint64{1}, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if _, err := trainer.Dense("emb"); err == nil {
		t.Error("an embedding was read as a dense param")
	}
	if _, err := trainer.Rows("w", nil); err == nil {
		t.Error("a dense param was read as an embedding")
	}
}

// The trainer clips the step as a whole and gives each param its rule.
func TestClipsAndRulesByParam(t *testing.T) {
	rule := optimizer.ClipByGlobalNorm{Norm: 6.5, Rule: optimizer.PerParam{
		Rule: optimizer.SGD{LR: 1}, By: map[string]optimizer.Rule{"emb": optimizer.SGD{LR: 10}},
	}}
	o := newToy()
	trainer, err := local.Minimize(o, rule)
	check(t, err)
	check(t, trainer.SetDense("w", make([]float32, 15)))
	check(t, trainer.SetRows("emb", []uint64{7}, make([]float32, 4)))
	s, step := open(t, trainer, o), o.step(7)
	check(t, s.Begin(t.Context(), step))
	o.w.G[0], o.w.G[1], step.Rows[0].G[0] = 3, -4, 12 // 13 long: halved
	check(t, s.End(t.Context(), step))
	w, err := trainer.Dense("w")
	check(t, err)
	row, err := trainer.Rows("emb", []uint64{7})
	check(t, err)
	same(t, "w", []float32{-1.5, 2}, w[:2])
	same(t, "row", []float32{-60, 0, 0, 0}, row)
}

// TestRate sets the rate of a trainer between steps: it counts from the next one, and what can't be set is refused.
func TestRate(t *testing.T) {
	p := &optimizer.Param{Name: "w", Shape: []int{1}, Init: optimizer.Constant{}, W: make([]float32, 1), G: make([]float32, 1)}
	trainer, err := local.New([]*optimizer.Param{p}, optimizer.SGD{LR: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := trainer.Open([]*optimizer.Param{p})
	if err != nil {
		t.Fatal(err)
	}
	step := func(want float32) {
		t.Helper()
		st := new(optimizer.Step)
		if err := s.Begin(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		p.G[0] = -1
		if err := s.End(t.Context(), st); err != nil || p.W[0] != want {
			t.Errorf("weight %v, want %v: %v", p.W[0], want, err)
		}
	}
	step(0.5)
	if err := trainer.SetRate(2); err != nil || trainer.RateFactor() != 4 {
		t.Errorf("factor %v: %v", trainer.RateFactor(), err)
	}
	step(2.5)
	if err := trainer.SetRateFactor(1); err != nil {
		t.Error(err)
	}
	step(3)
	for _, err := range []error{trainer.SetRate(0), trainer.SetRateFactor(-1)} {
		if err == nil || !strings.HasPrefix(err.Error(), "local: SetRate") {
			t.Errorf("a bad rate: %v", err)
		}
	}
	step(3.5)
}
