package session

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestStepsOfOtherRowsAreRefused: a step whose rows are not the objective's is refused, by the names of both, before
// anything of it is sent.
func TestStepsOfOtherRowsAreRefused(t *testing.T) {
	var l ledger
	w := newWorker(t, strategy.Sync(), &l)
	emb := params()[1]
	rows := func(p *optimizer.Param, ids ...uint64) []optimizer.Rows {
		return []optimizer.Rows{{Param: p, IDs: ids, W: make([]float32, len(ids)), G: make([]float32, len(ids))}}
	}
	for want, st := range map[string]*optimizer.Step{
		"": {Rows: rows(emb, 3, 7), Samples: 1},
		"rows of 0 embeddings: the objective has 1": {Samples: 1},
		`step.Rows[0] is for "others", want "emb"`:  {Rows: rows(&optimizer.Param{Name: "others", Embedding: true}, 3), Samples: 1},
		`step.Rows[0] is for no param, want "emb"`:  {Rows: rows(nil, 3), Samples: 1},
		`embedding "emb": id 3 after 7`:             {Rows: rows(emb, 7, 3), Samples: 1},
		`embedding "emb": id 3 after 3`:             {Rows: rows(emb, 3, 3), Samples: 1},
		"a training step of 0 samples":              {Rows: rows(emb, 3)},
		"reads rows of 2 embeddings beside":         {Rows: rows(emb, 3), Samples: 1, Beside: append(rows(emb, 3), rows(emb, 7)...)},
		"2 ids need 2 values, have 1 weights":       {Rows: []optimizer.Rows{{Param: emb, IDs: []uint64{3, 7}, W: []float32{0}}}, Samples: 1},
	} {
		if err := checkStep(w, st); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if l.pushes != 0 {
		t.Errorf("%d pushes", l.pushes)
	}
}
