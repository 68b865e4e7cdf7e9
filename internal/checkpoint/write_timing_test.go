package checkpoint

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// BenchmarkPart writes and loads a part of 220 MB, rows of 16 under Adam, beside as many bytes that are written to a file and synced,
// and read, by themselves.
func BenchmarkPart(b *testing.B) {
	const dim, mostRows = 16, 1_000_000
	emb := &optimizer.Param{Name: "emb", Shape: []int{mostRows, dim}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	fresh := func() *table.Store {
		s := new(table.Store)
		t, err := table.NewSparse(emb, rule, table.Options{})
		check(b, err)
		check(b, s.AddTable(t))
		return s
	}
	s := fresh()
	ids, g := make([]uint64, 10_000), make([]float32, dim*10_000)
	for first := uint64(0); first < mostRows; first += uint64(len(ids)) {
		for i := range ids {
			ids[i] = (first + uint64(i)) * 7919 % mostRows
		}
		check(b, s.Tables[0].Pull(ids, g, 0))
	}
	dir := b.TempDir()
	m := Manifest{ID: "a", Rule: rule.Name(), Params: Params([]*optimizer.Param{emb})}
	var pause, write, load, plainWrite, plainRead time.Duration
	for b.Loop() {
		began := time.Now()
		image := ImageOf(s)
		pause = max(pause, time.Since(began))
		p, err := WriteImage(b.Context(), dir, PartName("a", 0, 1), image)
		check(b, err)
		image.Close()
		write += time.Since(began)
		m.Parts = []Part{p}
		check(b, Commit(dir, m))

		began = time.Now()
		_, err = Load(b.Context(), dir, fresh(), rule, []*optimizer.Param{emb}, func(int, uint64) bool { return true })
		check(b, err)
		load += time.Since(began)
		w, r := plain(b, filepath.Join(dir, "plain"), p.Bytes)
		plainWrite, plainRead = plainWrite+w, plainRead+r
	}
	size := float64(m.Parts[0].Bytes) / 1e6 * float64(b.N)
	b.ReportMetric(float64(pause.Microseconds())/1000, "pause-ms")
	b.ReportMetric(size/write.Seconds(), "write-MB/s")
	b.ReportMetric(size/load.Seconds(), "load-MB/s")
	b.ReportMetric(size/plainWrite.Seconds(), "plain-write-MB/s")
	b.ReportMetric(size/plainRead.Seconds(), "plain-read-MB/s")
	b.ReportMetric(0, "ns/op")
}

// plain writes and reads a file of so many bytes.
func plain(b *testing.B, name string, size int64) (write, read time.Duration) {
	b.Helper()
	piece := make([]byte, 1<<20)
	for i := range piece {
		piece[i] = byte(i * 7 >> 3)
	}
	began := time.Now()
	f, err := os.Create(name)
	check(b, err)
	for at := int64(0); at < size; at += int64(len(piece)) {
		_, err := f.Write(piece)
		check(b, err)
	}
	check(b, f.Sync())
	check(b, f.Close())
	write = time.Since(began)
	began = time.Now()
	f, err = os.Open(name)
	check(b, err)
	for err == nil {
		_, err = f.Read(piece)
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	check(b, f.Close())
	read = time.Since(began)
	check(b, os.Remove(name))
	return write, read
}
