package placement_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sizes is how many elements each block of a cut has.
func sizes(blocks []placement.Block) []int {
	var n []int
	for _, b := range blocks {
		n = append(n, b.Size)
	}
	return n
}

// times is count blocks of size, and then the rest.
func times(count, size int, rest ...int) []int {
	return append(slices.Repeat([]int{size}, count), rest...)
}

func TestSlice(t *testing.T) {
	type shape = []int
	tests := []struct {
		shape    shape
		servers  int
		minBlock int
		want     []int
	}{
		{shape{3, 5}, 10, 1024, times(1, 15)},
		{shape{1024}, 10, 1024, times(1, 1024)},
		{shape{28, 784}, 10, 1024, times(9, 2352, 784)},
		{shape{8, 1020}, 10, 1024, times(4, 2040)},
		{shape{800, 10}, 10, 1024, times(6, 1150, 1100)},

		{shape{3, 5}, 10, 8192, times(1, 15)},
		{shape{1024}, 10, 8192, times(1, 1024)},
		{shape{28, 784}, 10, 8192, times(2, 10976)},
		{shape{8, 1020}, 10, 8192, times(1, 8160)},
		{shape{800, 10}, 10, 8192, times(1, 8000)},
		{shape{6, 33, 33, 33}, 10, 8192, times(6, 35937)},

		{shape{8192}, 2, 0, times(1, 8192)},
		{shape{8192}, 4, 0, times(1, 8192)},
		{shape{16383}, 2, 0, times(1, 16383)},
		{shape{16383}, 4, 0, times(1, 16383)},
		{shape{16384}, 2, 0, times(2, 8192)},
		{shape{16384}, 4, 0, times(2, 8192)},
		{shape{16385}, 2, 0, times(1, 8193, 8192)},
		{shape{16385}, 4, 0, times(1, 8193, 8192)},
		{shape{24577}, 2, 0, times(1, 12289, 12288)},
		{shape{24577}, 3, 0, times(2, 8193, 8191)},
		{shape{24577}, 4, 0, times(2, 8193, 8191)},
		{shape{784, 128}, 2, 0, times(2, 50176)},
		{shape{784, 128}, 3, 0, times(2, 33536, 33280)},
		{shape{784, 128}, 4, 0, times(4, 25088)},
		{shape{784, 128}, 8, 0, times(8, 12544)},
		{shape{128, 128}, 2, 0, times(2, 8192)},
		{shape{128, 128}, 4, 0, times(2, 8192)},
		{shape{128, 10}, 3, 0, times(1, 1280)},
		{shape{400, 400}, 2, 0, times(2, 80000)},
		{shape{400, 400}, 3, 0, times(2, 53600, 52800)},
		{shape{400, 400}, 4, 0, times(4, 40000)},
		{shape{273, 400}, 2, 0, times(1, 54800, 54400)},
		{shape{273, 400}, 3, 0, times(3, 36400)},
		{shape{273, 400}, 4, 0, times(3, 27600, 26400)},
		{shape{273, 400}, 8, 0, times(7, 14000, 11200)},
		{shape{1024, 10}, 4, 0, times(1, 10240)},
		{shape{1000001, 10}, 2, 0, times(1, 5000010, 5000000)},
		{shape{1000001, 10}, 3, 0, times(2, 3333340, 3333330)},
		{shape{1000001, 10}, 4, 0, times(3, 2500010, 2499980)},
		{shape{1000001, 10}, 8, 0, times(7, 1250010, 1249940)},
		{shape{3, 5000}, 2, 0, times(1, 15000)},
		{shape{3, 10000}, 2, 0, times(1, 20000, 10000)},
		{shape{3, 10000}, 3, 0, times(3, 10000)},
		{shape{3, 10000}, 4, 0, times(3, 10000)},
		{shape{5, 8192}, 2, 0, times(1, 24576, 16384)},
		{shape{5, 8192}, 3, 0, times(2, 16384, 8192)},
		{shape{5, 8192}, 4, 0, times(2, 16384, 8192)},
		{shape{5, 8192}, 8, 0, times(5, 8192)},
		{shape{7, 5000}, 2, 0, times(1, 20000, 15000)},
		{shape{7, 5000}, 3, 0, times(2, 15000, 5000)},
		{shape{7, 5000}, 4, 0, times(3, 10000, 5000)},
		{shape{1, 20000}, 4, 0, times(1, 20000)},
		{shape{4, 10, 1000}, 2, 0, times(2, 20000)},
		{shape{4, 10, 1000}, 3, 0, times(2, 20000)},
		{shape{4, 10, 1000}, 4, 0, times(4, 10000)},
		{shape{512, 256, 3, 3}, 2, 0, times(2, 589824)},
		{shape{512, 256, 3, 3}, 3, 0, times(2, 393984, 391680)},
		{shape{512, 256, 3, 3}, 4, 0, times(4, 294912)},

		{nil, 4, 0, times(1, 1)},
		{shape{4}, 4, 1, times(4, 1)},
		{shape{16384}, 0, 0, times(1, 16384)},
	}
	for _, tt := range tests {
		got := sizes(placement.Slice("w", tt.shape, tt.servers, tt.minBlock))
		if !slices.Equal(got, tt.want) {
			t.Errorf("Slice(%v, %d servers, min %d) = %v, want %v", tt.shape, tt.servers, tt.minBlock, got, tt.want)
		}
	}
}

func TestSliceRefusesShapesWithoutElements(t *testing.T) {
	for _, shape := range [][]int{{0}, {0, 8}, {3, -1}, {math.MaxInt, 2}, {1 << 31, 1 << 31, 4}} {
		if got := placement.Slice("w", shape, 2, 0); got != nil {
			t.Errorf("Slice(%v) = %v, want nothing", shape, got)
		}
	}
}

func TestSliceNamesAndShapes(t *testing.T) {
	want := []placement.Block{
		{Var: "w", Index: 0, Name: "w.block0", Offset: 0, Size: 33536, Shape: []int{262, 128}},
		{Var: "w", Index: 1, Name: "w.block1", Offset: 33536, Size: 33536, Shape: []int{262, 128}},
		{Var: "w", Index: 2, Name: "w.block2", Offset: 67072, Size: 33280, Shape: []int{260, 128}},
	}
	if diff := cmp.Diff(want, placement.Slice("w", []int{784, 128}, 3, 0)); diff != "" {
		t.Errorf("784×128 on 3 servers (-want +got):\n%s", diff)
	}
	one := []placement.Block{{Var: "b", Name: "b", Size: 128, Shape: []int{128}}}
	if diff := cmp.Diff(one, placement.Slice("b", []int{128}, 3, 0)); diff != "" {
		t.Errorf("a vector in one block (-want +got):\n%s", diff)
	}
}

func TestSliceDoesNotShareTheShape(t *testing.T) {
	shape := []int{784, 128}
	placement.Slice("w", shape, 2, 0)[0].Shape[1] = 7
	if shape[1] != 128 {
		t.Errorf("writing to a block's shape changed the variable's to %v", shape)
	}
}

func TestBlockRowsAndBytes(t *testing.T) {
	b := placement.Slice("w", []int{784, 128}, 3, 0)[1]
	if first, end := b.Rows(); first != 262 || end != 524 {
		t.Errorf("rows of the second block are [%d, %d), want [262, 524)", first, end)
	}
	if b.Width() != 128 || b.Bytes() != 4*33536 {
		t.Errorf("width %d and %d bytes, want 128 and %d", b.Width(), b.Bytes(), 4*33536)
	}
}

func drawShape(t *rapid.T) []int {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.IntRange(1, 60), 1, 4),
		rapid.SliceOfN(rapid.IntRange(1, 70000), 1, 1),
		rapid.SliceOfN(rapid.IntRange(1, 900), 2, 2),
	).Draw(t, "shape")
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Whatever the shape, blocks tile the variable in order, in whole rows, none below what was asked unless it is the last.
func TestSliceTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		servers := rapid.IntRange(1, 20).Draw(t, "servers")
		least := rapid.IntRange(1, 20000).Draw(t, "minBlockSize")
		blocks := placement.Slice("w", shape, servers, least)
		if len(blocks) < 1 || len(blocks) > servers {
			t.Fatalf("%d blocks for %d servers", len(blocks), servers)
		}
		at, total := 0, product(shape)
		for i, b := range blocks {
			width := product(shape[1:])
			switch {
			case b.Offset != at || b.Index != i || b.Var != "w":
				t.Fatalf("block %d is %+v, want offset %d", i, b, at)
			case b.Size < 1 || b.Size%width != 0:
				t.Fatalf("block %d has %d elements, rows have %d", i, b.Size, width)
			case product(b.Shape) != b.Size || !slices.Equal(b.Shape[1:], shape[1:]):
				t.Fatalf("block %d of %d elements has shape %v, the variable %v", i, b.Size, b.Shape, shape)
			case i < len(blocks)-1 && (b.Size < least || b.Size != blocks[0].Size):
				t.Fatalf("block %d of %d has %d elements, least is %d, the first has %d", i, len(blocks), b.Size, least, blocks[0].Size)
			}
			at += b.Size
		}
		if at != total {
			t.Fatalf("blocks cover %d of %d elements", at, total)
		}
	})
}
