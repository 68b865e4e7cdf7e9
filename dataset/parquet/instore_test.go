package parquet

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestRequests: a file in a store takes a request for each megabyte that is read, and three more; columns that are not used take none.
func TestRequests(t *testing.T) {
	law.Slow(t)
	type wide struct {
		A, B, C, D, E, F, G, H float64
	}
	rows, r := make([]wide, 120_000), rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		rows[i] = wide{r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()}
	}
	data := written(t, rows, 60_000)
	for fields, megabytes := range map[string]int{"A B C D E F G H": len(data) >> 20, "D": 4} {
		m := storetest.NewMemory()
		url := storetest.Mount(t, m) + "/f.parquet"
		m.Set("test/f.parquet", data, time.Now())
		names := strings.Fields(fields)
		f := &Files{Paths: []string{url}, Schema: []dataset.CSVColumn{{Column: dataset.Floats("x", len(names)), Fields: names}}}
		got, err := dataset.NewTable(f.Columns()...)
		law.Check(t, err)
		rd, err := f.Open(0)
		law.Check(t, err)
		for err == nil {
			_, err = rd.Read(got, 1000)
		}
		rd.Close()
		if err != io.EOF || got.Len() != len(rows) {
			t.Fatalf("%s: %d rows, error %v", fields, got.Len(), err)
		}
		if asked := m.Requests(); asked > megabytes+3 {
			t.Errorf("%s, of a file of %d bytes: %d requests, want %d", fields, len(data), asked, megabytes+3)
		}
	}
}
