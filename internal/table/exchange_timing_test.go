package table

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// BenchmarkExchange is what an exchange of mode geo costs a table of 500,000 rows of 9 weights, of which half have changed.
func BenchmarkExchange(b *testing.B) {
	const rows, dim = 500_000, 9
	p := &optimizer.Param{Name: "emb", Shape: []int{0, dim}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	t, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Numbered: true})
	if err != nil {
		b.Fatal(err)
	}
	old, err := t.KeepOld()
	if err != nil {
		b.Fatal(err)
	}
	own, err := t.Watch(false)
	if err != nil {
		b.Fatal(err)
	}
	other, err := t.Watch(false)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var ids []uint64
	for _, i := range r.Perm(1_000_000)[:rows] {
		ids = append(ids, uint64(i))
	}
	if err := t.Pull(ids, make([]float32, dim*rows), 0); err != nil {
		b.Fatal(err)
	}
	ids = ids[:rows/2]
	slices.Sort(ids)
	w := make([]float32, dim*len(ids))
	for i := range w {
		w[i] = 1e-3
	}
	run := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/row")
		})
	}
	run("Pull", func() error { return t.Pull(ids, w, 1) })
	run("Push", func() error { _, err := t.Push(ids, w, 1); return err })
	run("Push and Take", func() error {
		if _, err := own.Push(ids, w, Clicks{}, 1); err != nil {
			return err
		}
		other.Take(nil)
		return nil
	})
	run("Old.Take", func() error {
		old.Take(func(_ uint64, w, old []float32, _ bool) bool { old[0] = w[0]; return true })
		return nil
	})
	run("Old.Receive", func() error {
		return old.Receive(ids, w, func(latest, old, arrived []float32) { copy(latest, arrived) })
	})
}
