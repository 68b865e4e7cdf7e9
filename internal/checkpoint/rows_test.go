package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// manyRows are some batches of rows, and a piece of one.
const manyRows = 2*rowsAtOnce + 100

// embeddings are the param of a large table, and the rows of n servers.
func embeddings(t testing.TB, n int) (*optimizer.Param, []*table.Store) {
	t.Helper()
	emb := &optimizer.Param{Name: "emb", Shape: []int{manyRows, 3}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	var all []*table.Store
	for range n {
		s := new(table.Store)
		sparse, err := table.NewSparse(emb, rule, table.Options{})
		check(t, err)
		check(t, s.AddTable(sparse))
		all = append(all, s)
	}
	return emb, all
}

// TestManyRows saves a table of many batches of rows and loads it into two servers, each of which takes its own.
func TestManyRows(t *testing.T) {
	emb, from := embeddings(t, 1)
	ids := make([]uint64, manyRows)
	for i := range ids {
		ids[i] = uint64(i)
	}
	_, err := from[0].Tables[0].Push(ids, make([]float32, 3*manyRows), 1)
	check(t, err)
	dir := t.TempDir()
	p, err := WritePart(t.Context(), dir, PartName("a", 0, 1), from[0])
	check(t, err)
	check(t, Commit(dir, Manifest{ID: "a", Rule: rule.Name(), Params: Params([]*optimizer.Param{emb}), Parts: []Part{p}}))
	_, to := embeddings(t, 2)
	for i, s := range to {
		_, err := Load(t.Context(), dir, s, rule, []*optimizer.Param{emb}, func(_ int, id uint64) bool { return int(id)%2 == i })
		check(t, err)
		for row := range from[0].Tables[0].Rows(1) {
			got := table.Row{}
			if int(row.ID)%2 == i {
				for got = range s.Tables[0].RowsOf([]uint64{row.ID}, 1) {
				}
				if got.Step != row.Step || got.Updates != row.Updates || !slices.Equal(got.W, row.W) || !slices.Equal(got.State, row.State) {
					t.Fatalf("server %d: row %+v, want %+v", i, got, row)
				}
			}
		}
		if n := s.Tables[0].Len(); n != manyRows/2 {
			t.Errorf("server %d has %d rows, want %d", i, n, manyRows/2)
		}
	}
}

// TestRowsThatAreNotThere has a file say of itself that it has other rows than it has, and a load that is ended meanwhile.
func TestRowsThatAreNotThere(t *testing.T) {
	info := tableInfo{Param: "emb", Dim: 3, State: 6, Rows: manyRows}
	file := func(updates int) *safetensors.File {
		var b bytes.Buffer
		n := []int{manyRows}
		w, err := safetensors.NewWriter(&b, []safetensors.Tensor{{Name: "emb.ids", DType: safetensors.U64, Shape: n},
			{Name: "emb.rows", DType: safetensors.F32, Shape: []int{manyRows, 9}}, {Name: "emb.step", DType: safetensors.I64, Shape: n},
			{Name: "emb.seen", DType: safetensors.U32, Shape: n}, {Name: "emb.updates", DType: safetensors.U32, Shape: []int{updates}}}, nil)
		check(t, err)
		check(t, first(func() error { return safetensors.Put(w, "emb.ids", make([]uint64, manyRows)) },
			func() error { return safetensors.Put(w, "emb.rows", make([]float32, 9*manyRows)) },
			func() error { return safetensors.Put(w, "emb.step", make([]int64, manyRows)) },
			func() error { return safetensors.Put(w, "emb.seen", make([]uint32, manyRows)) },
			func() error { return safetensors.Put(w, "emb.updates", make([]uint32, updates)) }))
		f, err := safetensors.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		check(t, err)
		return f
	}
	load := func(ctx context.Context, f *safetensors.File, info tableInfo) error {
		_, stores := embeddings(t, 1)
		l := loader{ctx: ctx, store: stores[0], owns: everything}
		return l.table(f, info)
	}
	check(t, load(t.Context(), file(manyRows), info))
	if err := load(t.Context(), file(manyRows-1), info); err == nil {
		t.Error("rows were loaded whose updates are not there")
	}
	for _, wrong := range []tableInfo{{Param: "emb", Dim: 3, State: 6, Rows: manyRows + 1}, {Param: "emb", Dim: 3, State: 6, Rows: 1 << 60},
		{Param: "emb", Dim: 3, State: 6, Rows: -1}} {
		if err := load(t.Context(), file(manyRows), wrong); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d rows of %d: error %v, want ErrDamaged", wrong.Rows, manyRows, err)
		}
	}
	ctx, end := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	end(stopped)
	if err := load(ctx, file(manyRows), info); !errors.Is(err, stopped) {
		t.Errorf("a load that was ended: error %v", err)
	}
}
