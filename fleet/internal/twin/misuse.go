package twin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// An objective of a program's own may make steps that are not the job's. They are refused, and change nothing.

// caught is an objective that tells who trains it.
type caught struct {
	*nn.Node
	trainer *optimizer.Trainer
}

// Bind implements [optimizer.Objective].
func (c caught) Bind(t optimizer.Trainer) {
	*c.trainer = t
	c.Node.Bind(t)
}

// misuses are steps that are wrong, with what says so. The first of a step's rows are those of a table.
func misuses(t Table) map[string]func(*optimizer.Step) {
	few := make([]float32, 2*t.Dim-1)
	return map[string]func(*optimizer.Step){
		"is for no param":       func(s *optimizer.Step) { s.Rows[0].Param = nil },
		`is for "another"`:      func(s *optimizer.Step) { s.Rows[0].Param = &optimizer.Param{Name: "another"} },
		"a step has rows of 0":  func(s *optimizer.Step) { s.Rows = nil },
		"2 ids need":            func(s *optimizer.Step) { s.Rows[0].W = few },
		"unique and increasing": func(s *optimizer.Step) { s.Rows[0].IDs = []uint64{2, 1} },
		"step of 0 samples":     func(s *optimizer.Step) { s.Samples = 0 },
		"embeddings beside":     func(s *optimizer.Step) { s.Beside = []optimizer.Rows{} },
	}
}

// misuse has sessions of a thread begin steps that are wrong, one after the other.
func (r *role) misuse(ctx context.Context) error {
	params := r.g.loss.Params()
	tables := slices.DeleteFunc(slices.Clone(params), func(p *optimizer.Param) bool { return !p.Embedding })
	all := misuses(r.p.Net.tables()[0])
	for _, says := range slices.Sorted(maps.Keys(all)) {
		step := &optimizer.Step{Samples: 1}
		for i, p := range tables {
			rows := optimizer.Rows{Param: p}
			if n := 2 * p.Dim(); i == 0 {
				rows.IDs, rows.W, rows.G = []uint64{0, 1}, make([]float32, n), make([]float32, n)
			}
			step.Rows = append(step.Rows, rows)
		}
		all[says](step)
		s, err := r.trainer.Open(params)
		if err != nil {
			return err
		}
		if err = s.Begin(ctx, step); err == nil || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("a wrong step should be refused by %q: %v", says, err)
		}
		if closed := s.Close(ctx); closed != nil && !strings.Contains(closed.Error(), says) {
			return closed
		}
	}
	return nil
}
