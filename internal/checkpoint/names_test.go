package checkpoint

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

func TestNamesThatCannotBeSaved(t *testing.T) {
	for _, c := range []struct {
		dense, rows string // names, separated by spaces
		says        string // "" if they can
	}{
		{"w w.ids w[0:3] ids", "e e2 emb.weight", ""},
		{"w.state", "w", ""},
		{"__metadata__", "", "__metadata__"},
		{"", "__metadata__", "__metadata__"},
		{"\xff", "", "UTF-8"},
		{"w w", "", `"w" and "w"`},
		{"e.ids", "e", `"e.ids" and "e"`},
		{"", "e e.ids", `"e" and "e.ids"`},
		{"", "e.waiting e", `"e.waiting" and "e"`},
	} {
		var params []*optimizer.Param
		for name := range strings.FieldsSeq(c.dense) {
			params = append(params, &optimizer.Param{Name: name, Shape: []int{3}})
		}
		for name := range strings.FieldsSeq(c.rows) {
			params = append(params, &optimizer.Param{Name: name, Shape: []int{0, 3}, Embedding: true})
		}
		err := CheckNames(params)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("dense %q, rows %q: %v, want %q", c.dense, c.rows, err, c.says)
		}
	}
}
