package train_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
)

// journey is a row: what is derived of it is known too.
type journey struct {
	id       int
	departs  time.Time
	from, to string
	far      float64

	file int
}

// journeys draws rows in which times, distances and pairs of places recur.
func journeys(r *rand.Rand) (all []journey, files int) {
	n, files := 20+r.IntN(200), 1+r.IntN(3)
	places := []string{"JFK", "Zürich", "a b", "7"}
	for i := range n {
		all = append(all, journey{id: i, departs: time.Unix(int64(r.IntN(400))*7200, 0).UTC(),
			from: places[r.IntN(4)], to: places[r.IntN(4)], far: float64(r.IntN(60)) / 2, file: i * files / n})
	}
	return all, files
}

// write writes them, as CSV or as lines of JSON.
func write(t *testing.T, all []journey, files int, lines bool) string {
	t.Helper()
	dir := t.TempDir()
	for k := range files {
		var b strings.Builder
		if !lines {
			b.WriteString("id,departs,from,to,far\n")
		}
		for _, j := range all {
			if j.file != k {
				continue
			}
			format := "%d,%s,%s,%s,%g\n"
			if lines {
				format = "{\"id\": %d, \"departs\": %q, \"from\": %q, \"to\": %q, \"far\": %g}\n"
			}
			fmt.Fprintf(&b, format, j.id, j.departs.Format(time.DateTime), j.from, j.to, j.far)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.rows", k)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// derivedOf are the columns by which rows are parted, each with its value in plain Go.
var derivedOf = map[string]func(j journey) string{
	"hour":  func(j journey) string { return strconv.Itoa(j.departs.Hour()) },
	"at":    func(j journey) string { return strconv.FormatInt(j.departs.Unix(), 10) },
	"reach": func(j journey) string { return strconv.Itoa(int(min(j.far, 25) / 5)) },
	"pair":  func(j journey) string { return j.from + "×" + j.to },
	"hours": func(j journey) string { return j.from + "×" + strconv.Itoa(j.departs.Hour()) },
}

// TestRowsArePartedByDerivedFields: by whatever is derived of rows these are held out, in CSV and in lines of JSON, of one file or several,
// the same rows are, no value is on both sides, what has an order comes behind what is trained on, and workers share out all of it.
func TestRowsArePartedByDerivedFields(t *testing.T) {
	t.Parallel()
	few, seeds := 0, 0
	trial.EachSeed(t, 100, func(seed trial.Seed) {
		seeds++
		r := rand.New(rand.NewPCG(seed.N, 5))
		all, files := journeys(r)
		f := train.Files{Seed: r.Uint64(), HeldOut: []float64{0, 0.1, 0.5}[r.IntN(3)]}
		by, ordered := []string{"hour", "at", "reach", "pair", "hours"}[r.IntN(5)], r.IntN(2) == 0
		if ordered = ordered && by != "pair" && by != "hours"; ordered {
			f.LastBy = by
		} else {
			f.GroupBy = by
		}
		if r.IntN(2) == 0 {
			f.Take = len(all)/2 + r.IntN(len(all))
		}
		derived := []dataset.Derived{{Name: "hour", From: []string{"departs"}, Part: dataset.Hour, Layout: time.DateTime},
			{Name: "at", From: []string{"departs"}, Part: dataset.Seconds, Layout: time.DateTime},
			{Name: "reach", From: []string{"far"}, Buckets: []float64{5, 10, 15, 20, 25}},
			{Name: "pair", From: []string{"from", "to"}}, {Name: "hours", From: []string{"from", "hour"}}}
		hash := int64(0)
		if by == "pair" || by == "hours" {
			hash = 1 << 32
		}
		schema := []dataset.CSVColumn{{Column: dataset.Ints("id")}, {Column: dataset.Ints(by), Hash: hash}}
		var parts [2][2][]int64
		for k, format := range []dataset.Format{dataset.CSV{Derived: derived, Schema: schema},
			dataset.JSONLines{Derived: derived, Schema: schema}} {
			f.Format, f.Paths = format, []string{write(t, all, files, k == 1)}
			rows, test, err := f.Load(t.Context())
			if err != nil && f.GroupBy != "" && strings.Contains(err.Error(), "on one side") {
				few++ // of few groups none may be held out
				return
			}
			if err != nil {
				t.Fatalf("seed %d: %+v: %v", seed.N, f, err)
			}
			parts[k] = [2][]int64{columnOf(t, rows, "id"), columnOf(t, test, "id")}
			var shares []int64
			for w := range 3 {
				shares = append(shares, columnOf(t, rows.Shuffle(1).Epoch(2).Shard(w, 3), "id")...)
			}
			if !slices.Equal(sorted(shares), sorted(parts[k][0])) {
				t.Errorf("seed %d: three workers train on %v of %v", seed.N, shares, parts[k][0])
			}
		}
		if !slices.Equal(parts[0][0], parts[1][0]) || !slices.Equal(parts[0][1], parts[1][1]) {
			t.Errorf("seed %d: %+v: as CSV and as JSON rows are parted apart: %v", seed.N, f, parts)
		}
		side := map[string]int{}
		for k, ids := range parts[0] {
			for _, id := range ids {
				value := derivedOf[by](all[id])
				if was, seen := side[value]; seen && was != k {
					t.Fatalf("seed %d: %+v: %s is on both sides", seed.N, f, value)
				}
				side[value] = k
			}
		}
		if want := len(all); f.Take == 0 && len(parts[0][0])+len(parts[0][1]) != want {
			t.Errorf("seed %d: %d and %d rows of %d", seed.N, len(parts[0][0]), len(parts[0][1]), want)
		}
		for a, k := range side {
			for b, l := range side {
				x, _ := strconv.ParseFloat(a, 64)
				y, _ := strconv.ParseFloat(b, 64)
				if ordered && k < l && x >= y {
					t.Fatalf("seed %d: %+v: to train on is %s, and held out is %s", seed.N, f, a, b)
				}
			}
		}
	})
	if few > 1+seeds/10 {
		t.Errorf("of %d seeds %d have too few groups to hold any out", seeds, few)
	}
}

func sorted(ids []int64) []int64 { return slices.Sorted(slices.Values(ids)) }
