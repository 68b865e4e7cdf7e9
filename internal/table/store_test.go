package table

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

func dense(name string, n int) *optimizer.Param {
	return &optimizer.Param{Name: name, Shape: []int{n}, W: make([]float32, n), G: make([]float32, n)}
}

func TestStoreFinds(t *testing.T) {
	var s Store
	fc := dense("fc", 10)
	check(t, s.AddBlock(Block{Param: fc, Name: "fc.block0", Values: NewDense(6, nil)}))
	check(t, s.AddBlock(Block{Param: fc, Name: "fc.block1", Offset: 6, Values: NewDense(4, nil)}))
	check(t, s.AddTable(newSparse(t, embedding(0, 2), optimizer.SGD{})))
	if b, ok := s.Block("fc.block1"); !ok || b.Offset != 6 || b.Values.Len() != 4 {
		t.Errorf("found %+v, %v", b, ok)
	}
	if table, ok := s.Table("emb"); !ok || table.Param().Dim() != 2 {
		t.Errorf("found %v, %v", table, ok)
	}
	if _, ok := s.Block("fc"); ok {
		t.Error("found a block that isn't there")
	}
	if _, ok := s.Table("fc"); ok {
		t.Error("found a table that isn't there")
	}
}

func TestStoreRefuses(t *testing.T) {
	var s Store
	fc := dense("fc", 10)
	check(t, s.AddBlock(Block{Param: fc, Name: "fc", Values: NewDense(10, nil)}))
	check(t, s.AddTable(newSparse(t, embedding(0, 2), nil)))
	tests := []struct {
		err  error
		says string
	}{
		{s.AddBlock(Block{Param: fc, Name: "fc", Values: NewDense(10, nil)}), `two dense blocks are named "fc"`},
		{s.AddBlock(Block{Param: fc, Name: "fc.block1", Offset: 5, Values: NewDense(6, nil)}), `weights 5 to 11 of "fc", which has 10`},
		{s.AddTable(newSparse(t, embedding(0, 3), nil)), `two sparse tables are named "emb"`},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("error %v, want one that says %q", tt.err, tt.says)
		}
	}
}

func TestStoreSteps(t *testing.T) {
	var s Store
	s.SetStep(41)
	for want := int64(42); want < 45; want++ {
		if got := s.Advance(); got != want {
			t.Errorf("update %d began, want %d", got, want)
		}
	}
	for _, tt := range []struct{ ends, finished int64 }{{43, 41}, {42, 43}, {42, 43}, {44, 44}} {
		if s.Finish(tt.ends); s.Step() != tt.finished {
			t.Errorf("after the end of update %d all up to %d are finished, want %d", tt.ends, s.Step(), tt.finished)
		}
	}
}
