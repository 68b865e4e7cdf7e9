package table

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// imagedBlock is a store with a block of many weights, each of which is its place, its state what one update of gradient 1 leaves.
func imagedBlock(t *testing.T) (*Store, *Dense) {
	const n = 1 << 23
	d, store := NewDense(n, optimizer.Momentum{LR: 1}), new(Store)
	if err := store.AddBlock(Block{Param: &optimizer.Param{Name: "w", Shape: []int{n}}, Name: "w", Values: d}); err != nil {
		t.Fatal(err)
	}
	d.Edit(func(at int, w, state []float32) {
		for i := range w {
			w[i], state[i] = float32(at+i), 1
		}
	})
	return store, d
}

// readBlock reads the image of that block, and has seen called after every hundredth piece.
func readBlock(t *testing.T, m *Image, seen func()) {
	at, pieces := 0, 0
	see := func() {
		if pieces++; pieces%100 == 1 {
			seen()
		}
	}
	_ = m.Blocks[0].EachWeight(func(w []float32) error {
		see()
		for _, v := range w {
			if v != float32(at) {
				t.Fatalf("weight %d is %v", at, v)
			}
			at++
		}
		return nil
	})
	_ = m.Blocks[0].EachState(func(state []float32) error {
		see()
		for _, v := range state {
			if at++; v != 1 {
				t.Fatalf("state %d is %v", at, v)
			}
		}
		return nil
	})
	if at != 2<<23 {
		t.Fatalf("%d numbers", at)
	}
}

// TestDenseImagesTakeLittleRoom pushes to a block of 64 MB, with its state, while its image is read: what is copied at a time stays below
// 16 MiB and a little, the image is what the block was, and the push ends with the reading.
func TestDenseImagesTakeLittleRoom(t *testing.T) {
	law.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		store, d := imagedBlock(t)
		g := make([]float32, d.Len())
		m := store.Image(everything)
		liveBytes() // what earlier tests have left goes with this collection, or the next
		before, most := liveBytes(), uint64(0)
		pushed := make(chan error, 1)
		push := sync.OnceFunc(func() { go func() { pushed <- d.Push(g, 1) }() })
		readBlock(t, m, func() {
			push()
			synctest.Wait() // until the push can't go on
			most = max(most, liveBytes())
		})
		if err := <-pushed; err != nil {
			t.Error(err)
		}
		m.Close()
		if took := int64(most - before); took > mostCopied+1<<20 {
			t.Errorf("%d bytes are copied at a time, want %d at most", took, mostCopied)
		}
		runtime.KeepAlive(g)
	})
}

// TestAnImageThatIsNotReadHoldsUpNobody: a push waits for no writer who has yet to begin with the dense blocks, which lists ids first. The
// image is right nevertheless.
func TestAnImageThatIsNotReadHoldsUpNobody(t *testing.T) {
	law.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		store, d := imagedBlock(t)
		m, began := store.Image(everything), time.Now()
		if err := d.Push(make([]float32, d.Len()), 1); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the push took %v", waited)
		}
		readBlock(t, m, func() {})
		m.Close()
	})
}

// TestAStillReaderHoldsUpNobody: a push waits for whoever reads an image no longer than 10 s, and not for an image that was closed. The
// image is right nevertheless.
func TestAStillReaderHoldsUpNobody(t *testing.T) {
	law.Slow(t)
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, d := imagedBlock(t)
			m, began := store.Image(everything), time.Now()
			if closed {
				time.AfterFunc(time.Second, m.Close)
			}
			still := errors.New("the disk stands still")
			err := m.Blocks[0].EachWeight(func([]float32) error { return still })
			if err = errors.Join(err, d.Push(make([]float32, d.Len()), 1)); err.Error() != still.Error() {
				t.Error(err)
			}
			want := patience
			if closed {
				want = time.Second
			} else {
				readBlock(t, m, func() {})
				m.Close()
			}
			if waited := time.Since(began); waited != want {
				t.Errorf("closed %t: the push took %v, want %v", closed, waited, want)
			}
		})
	}
}

// liveBytes are the bytes of what is reachable.
func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
