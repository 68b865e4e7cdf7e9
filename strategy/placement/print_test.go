package placement_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
)

func ExampleNew() {
	vars := []placement.Variable{
		{Name: "fc.w", Shape: []int{784, 128}},
		{Name: "fc.b", Shape: []int{128}},
		{Name: "user", Shape: []int{0, 16}, Open: true, RowBytes: 112, MostRows: 9_000_000},
		{Name: "ad", Shape: []int{0, 16}, Open: true, RowBytes: 112},
	}
	plan, err := placement.New(vars, 2, placement.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output:
	// placement of 4 variables on 2 servers by RoundRobin
	//   variable       block      shape  elements                          bytes  server
	//       fc.w      1 of 2  [392 128]     50176                      196.0 KiB       0
	//       fc.w      2 of 2  [392 128]     50176                      196.0 KiB       1
	//       fc.b       whole      [128]       128                          512 B       0
	//       user  rows by id     [* 16]         -  112 B a row, room for 9000000     all
	//         ad  rows by id     [* 16]         -  112 B a row, 9586980 in a GiB     all
	// server 0: 2 blocks, 50304 elements, 196.5 KiB
	// server 1: 1 block, 50176 elements, 196.0 KiB
	// imbalance: the fullest server holds 1.00 times the mean
}

func TestWriteToWritesTheSame(t *testing.T) {
	p := mustPlan(t, wideDeep(), 3, placement.Options{Policy: placement.HashName{}})
	var b strings.Builder
	n, err := p.WriteTo(&b)
	if err != nil || b.String() != p.String() || n != int64(b.Len()) {
		t.Errorf("WriteTo wrote %d bytes, error %v:\n%s", n, err, b.String())
	}
	if !strings.Contains(b.String(), "on 3 servers by HashName") || !strings.Contains(b.String(), "12.7 MiB") {
		t.Errorf("the table does not name the policy or a block's size:\n%s", b.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteToReportsErrors(t *testing.T) {
	if _, err := mustPlan(t, mlp(), 1, placement.Options{}).WriteTo(full{}); err == nil {
		t.Error("writing to a full disk succeeded")
	}
}

func TestImbalance(t *testing.T) {
	vars := []placement.Variable{{Name: "a", Shape: []int{300}}, {Name: "b", Shape: []int{100}}}
	tests := []struct {
		vars    []placement.Variable
		servers int
		want    float64
	}{
		{vars, 1, 1}, {vars, 2, 1.5}, {vars, 4, 3}, {nil, 3, 1},
	}
	for _, tt := range tests {
		if got := mustPlan(t, tt.vars, tt.servers, placement.Options{}).Imbalance(); got != tt.want {
			t.Errorf("imbalance of %v on %d servers is %v, want %v", tt.vars, tt.servers, got, tt.want)
		}
	}
}
