package serve

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/overlay"
)

// Odd is a value of a row of which training has told the model little.
type Odd struct {
	// Row is the number of the row in its call, from 0.
	Row int `json:"row"`
	// Field is the field of lines that has the value.
	Field string `json:"field"`
	// Why is "unseen" for an id without a row in its table, and "far" for a number further from the mean than ten
	// deviations: by Mean and Std of its Scale, or as nn.BatchNorm has learned them.
	Why string `json:"why"`
}

const (
	far     = 10
	mostOdd = 100 // of a call
)

// watch finds odd values in a feed.
type watch struct {
	dataset.CSVColumn
	fields  []string       // of a row's values; "" passes over one
	ranges  [][2]float32   // of a row's numbers
	missing float32        // stands for a missing number
	table   *overlay.Table // in which ids are looked up; nil for numbers
	padding *int64
}

// watches are those of the feeds for which the model's format reads fields.
func (m *Model) watches(lines dataset.JSONLines) (all []watch) {
	for _, c := range lines.Schema {
		w := watch{CSVColumn: c}
		missing, _ := strconv.ParseFloat(cmp.Or(c.Missing, lines.Missing), 32)
		w.missing = float32(missing)
		from, width := c.Fields, max(c.Width(), 1)
		if from == nil {
			from = []string{c.Name}
		}
		for i := range width {
			field := from[i*len(from)/width]
			if slices.ContainsFunc(lines.Derived, func(d dataset.Derived) bool {
				return d.Name == field && len(d.From) > 1
			}) {
				field = "" // a cross may be new where both of its fields are known
			}
			w.fields = append(w.fields, field)
			if len(c.Scale) > 0 && c.Scale[i%len(c.Scale)].Std > 0 {
				w.ranges = append(w.ranges, [2]float32{-far, far})
			} else {
				w.ranges = append(w.ranges, everything)
			}
		}
		m.find(&w)
		all = append(all, w)
	}
	return all
}

var everything = [2]float32{-math.MaxFloat32, math.MaxFloat32}

// find finds the table in which a feed is looked up, or the means and deviations that are learned of it.
func (m *Model) find(w *watch) {
	var graph struct {
		Nodes []struct {
			Op    string
			In    []string
			Attrs struct {
				Padding *int64 `json:"padding_idx"`
			}
		}
	}
	_ = json.Unmarshal(m.saved, &graph) // Load has read it
	for _, n := range graph.Nodes {
		switch {
		case len(n.In) < 2 || n.In[0] != w.Name:
		case m.tables[n.In[1]] != nil:
			w.table, w.padding = m.tables[n.In[1]], n.Attrs.Padding
		case n.Op == "batch_norm":
			mean, variance := m.weights(n.In[3]), m.weights(n.In[4])
			for i := range min(len(w.ranges), len(mean), len(variance)) {
				if reach := far * float32(math.Sqrt(float64(variance[i]))); w.ranges[i] == everything {
					w.ranges[i] = [2]float32{mean[i] - reach, mean[i] + reach}
				}
			}
		}
	}
}

// weights are those of a dense parameter.
func (m *Model) weights(name string) []float32 {
	for _, p := range m.Graph.Node(name).Params() {
		return p.W
	}
	return nil
}

// see appends the odd values of a batch.
func (w *watch) see(all []Odd, batch dataset.Batch) []Odd {
	if batch[w.Name] == nil { // no feed, as a label
		return all
	}
	switch values := batch[w.Name].Data().(type) {
	case []float32:
		for i, x := range values {
			if r := w.ranges[i%len(w.ranges)]; (x < r[0] || x > r[1]) && x != w.missing {
				all = w.add(all, batch, i, "far")
			}
		}
	case []int64:
		for i, id := range values {
			if w.table != nil && (w.padding == nil || id != *w.padding) && !w.table.Has(uint64(id)) {
				all = w.add(all, batch, i, "unseen")
			}
		}
	case []uint64:
		for i, id := range values {
			if w.table != nil && !w.table.Has(id) {
				all = w.add(all, batch, i, "unseen")
			}
		}
	}
	return all
}

// add appends value i of a batch.
func (w *watch) add(all []Odd, batch dataset.Batch, i int, why string) []Odd {
	row, field := i/len(w.fields), w.fields[i%len(w.fields)]
	if w.Varying {
		starts := batch[w.Name+".offsets"].Data().([]int64)
		row = sort.Search(len(starts), func(k int) bool { return int(starts[k]) > i }) - 1
	}
	if field == "" || len(all) == mostOdd {
		return all
	}
	return append(all, Odd{row, field, why})
}
