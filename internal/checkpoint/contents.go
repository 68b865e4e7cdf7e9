package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// contents describes the arrays of a part; it is the file's metadata under contentsKey.
type contents struct {
	Blocks []blockInfo `json:"blocks"`
	Tables []tableInfo `json:"tables"`
	// Chain is what was saved for serving, as the server knew it.
	Chain table.Chain `json:"chain,omitzero"`
}

type blockInfo struct {
	Param  string `json:"param"`
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	State  int    `json:"state"` // numbers of state
	Step   int64  `json:"step"`
}

type tableInfo struct {
	Param string `json:"param"`
	Dim   int    `json:"dim"`
	State int    `json:"state"` // numbers of state a row
	Rows  int    `json:"rows"`
	// Rated says that the rows have shows and clicks. Waiting is how many ids wait for a row.
	Rated   bool `json:"rated,omitempty"`
	Waiting int  `json:"waiting,omitempty"`
	// Forgotten is how many ids that wait in the base have been dropped since, Dropped how many of its rows.
	Forgotten int `json:"forgotten,omitempty"`
	Dropped   int `json:"dropped,omitempty"`
	// Scored says that the rows have delta scores, Served that each has flags for what models for serving have of it.
	// Gone is how many ids such models have whose rows were dropped.
	Scored bool `json:"scored,omitempty"`
	Served bool `json:"served,omitempty"`
	Gone   int  `json:"gone,omitempty"`
	// Clock is the number of periods so far.
	Clock uint32 `json:"clock,omitempty"`
}

const contentsKey = "gofleet"

func (b blockInfo) weights() string {
	return fmt.Sprintf("%s[%d:%d]", b.Param, b.Offset, b.Offset+b.Size)
}

func (b blockInfo) state() string { return b.weights() + ".state" }

func (t tableInfo) ids() string { return t.Param + ".ids" }

func (t tableInfo) rows() string { return t.Param + ".rows" }

func (t tableInfo) waiting() string { return t.Param + ".waiting.ids" }

func (t tableInfo) forgotten() string { return t.Param + ".waiting.forgotten" }

func (t tableInfo) dropped() string { return t.Param + ".dropped" }

func (t tableInfo) gone() string { return t.Param + ".gone" }

// tensors returns the tensors of a part.
func (c contents) tensors() []safetensors.Tensor {
	var ts []safetensors.Tensor
	for _, b := range c.Blocks {
		ts = append(ts, safetensors.Tensor{Name: b.weights(), DType: safetensors.F32, Shape: []int{b.Size}},
			safetensors.Tensor{Name: b.state(), DType: safetensors.F32, Shape: []int{b.State}})
	}
	for _, t := range c.Tables {
		ts = append(ts, t.tensors()...)
	}
	return ts
}

// tensors returns the tensors of a table. Ids that wait, forgotten ids and gone ids have tensors only if there are any.
func (t tableInfo) tensors() []safetensors.Tensor {
	var ts []safetensors.Tensor
	if t.Dropped > 0 {
		ts = append(ts, safetensors.Tensor{Name: t.dropped(), DType: safetensors.U64, Shape: []int{t.Dropped}})
	}
	ts = append(ts, []safetensors.Tensor{{Name: t.ids(), DType: safetensors.U64, Shape: []int{t.Rows}},
		{Name: t.rows(), DType: safetensors.F32, Shape: []int{t.Rows, t.Dim + t.State}}}...)
	ts = append(ts, t.columns(new(table.Columns)).declare(t.Rows)...)
	if t.Gone > 0 {
		ts = append(ts, safetensors.Tensor{Name: t.gone(), DType: safetensors.U64, Shape: []int{t.Gone}})
	}
	if t.Forgotten > 0 {
		ts = append(ts, safetensors.Tensor{Name: t.forgotten(), DType: safetensors.U64, Shape: []int{t.Forgotten}})
	}
	if t.Waiting > 0 {
		ts = append(ts, safetensors.Tensor{Name: t.waiting(), DType: safetensors.U64, Shape: []int{t.Waiting}})
		ts = append(ts, new(waiters).columns(t).declare(t.Waiting)...)
	}
	return ts
}
