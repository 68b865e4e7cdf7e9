package flights

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
	"github.com/gofleet/gofleet/internal/law"
)

func load(t testing.TB) *Data {
	t.Helper()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLoad(t *testing.T) {
	law.Slow(t)
	d := load(t)
	late, weather, planes := 0, 0, 0
	for i := range d.Len() {
		if d.Late[i] {
			late++
		}
		if _, ok := d.Weather(i); ok {
			weather++
		}
		if d.Planes[d.Tail[i]].Year > 0 {
			planes++
		}
		if i > 0 && d.Day[i]*dayMinutes+d.Dep[i] < d.Day[i-1]*dayMinutes+d.Dep[i-1] {
			t.Fatalf("flight %d leaves before the one before it", i)
		}
	}
	got := []int{d.Len(), late, weather, planes, len(d.Carriers), len(d.Origins), len(d.Dests), len(d.Tails)}
	want := []int{327346, 77630, 325819, 273853, 16, 3, 104, 4037}
	if !cmp.Equal(got, want) {
		t.Errorf("flights, late, with weather, with a plane's year, carriers, origins, dests, tails: %v, want %v", got, want)
	}
}

// The first flight of the year is known from the original: 5:15 from Newark to Houston, 11 minutes late.
func TestFirstFlight(t *testing.T) {
	law.Slow(t)
	d := load(t)
	type row struct {
		Carrier, Origin, Dest, Tail           string
		Flight, Day, Dep, Arr, Distance, Hour int
		Late                                  bool
		Plane                                 Plane
	}
	got := row{
		d.Carriers[d.Carrier[0]], d.Origins[d.Origin[0]], d.Dests[d.Dest[0]], d.Tails[d.Tail[0]],
		d.Flight[0], d.Day[0], d.Dep[0], d.Arr[0], d.Distance[0], d.Dep[0] / 60, d.Late[0], d.Planes[d.Tail[0]],
	}
	want := row{"UA", "EWR", "IAH", "N14228", 1545, 0, 5*60 + 15, 8*60 + 19, 1400, 5, false, Plane{1999, 149, 2, "737-824"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w, ok := d.Weather(0)
	if !ok || !isNaN(w.WindGust) {
		t.Errorf("weather %v, %v", w, ok)
	}
	w.WindGust = 0
	if want := (Weather{39.02, 28.04, 64.43, 260, 12.65858, 0, 0, 1011.9, 10}); w != want {
		t.Errorf("weather %v, want %v", w, want)
	}
}

func TestDataset(t *testing.T) {
	law.Slow(t)
	d := load(t)
	rows := Dataset(d)
	if n, _ := rows.Len(); n != d.Len() || len(Numbers()) != 13 || len(Categories()) != 20 {
		t.Fatalf("%d rows of %d numbers and %d categories", n, len(Numbers()), len(Categories()))
	}
	var sums [13]float64
	seen := make(map[int64]bool)
	for batch, err := range rows.Batches(4096) {
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range batch["dense_input"].Data().([]float32) {
			if !(x > -10 && x < 10) {
				t.Fatalf("%s is %v", Numbers()[i%13], x)
			}
			sums[i%13] += float64(x)
		}
		for _, id := range batch["C"].Data().([]int64) {
			if id < 0 || id >= Height {
				t.Fatalf("id %d", id)
			}
			seen[id] = true
		}
	}
	for i, sum := range sums {
		if mean := sum / float64(d.Len()); math.Abs(mean) > 1 {
			t.Errorf("the mean of %s is %v", Numbers()[i], mean)
		}
	}
	if len(seen) != 94_780 {
		t.Errorf("%d ids, want 94,780", len(seen))
	}
}

// The ids of a flight are the same in every release: models on disk hold rows by id.
func TestIDsAreFrozen(t *testing.T) {
	law.Slow(t)
	for batch, err := range Dataset(load(t)).Batches(1) {
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{456206, 200971, 448296, 906557, 681090, 853403, 351143, 298717, 836915, 123894,
			522169, 46398, 515747, 618449, 584896, 539655, 195670, 682360, 244762, 93733}
		if diff := cmp.Diff(want, batch["C"].Data().([]int64)); diff != "" {
			t.Error(diff)
		}
		break
	}
}

func TestCrossKeepsPartsApart(t *testing.T) {
	keys := map[uint64]bool{}
	for a := range 5 {
		for b := range 5 {
			for c := range 5 {
				keys[cross(a, b, c)] = true
			}
		}
	}
	if len(keys) != 125 || cross(1, 2, 3, 4) != 0x0001_0002_0003_0004 {
		t.Errorf("%d keys of 125", len(keys))
	}
}

// A value that wasn't taken becomes the mean, no gusts become the wind.
func TestMissingWeather(t *testing.T) {
	nan := float32(math.NaN())
	w := weather{records: []Weather{{Temp: 10, Precip: nan, WindSpeed: 4, WindGust: nan}, {Temp: 20, Precip: 1, WindSpeed: 6, WindGust: 30}}}
	means := w.means()
	if means.Temp != 15 || means.Precip != 1 || means.WindGust != 30 {
		t.Errorf("means %v", means)
	}
	one := w.records[0]
	one.fill(&means)
	if one.Temp != 10 || one.Precip != 1 || one.WindGust != 4 {
		t.Errorf("filled %v", one)
	}
}

// Features are good enough for what is built on them: a logistic regression learns in one pass what tells late flights
// from others.
func TestLogisticRegression(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on 327,346 flights")
	}
	train, test := Dataset(load(t)).Split(0.8, 1)
	model := logistic{weights: make([]float32, Height), squares: make([]float32, Height)}
	for batch, err := range train.Shuffle(1).Batches(4096) {
		if err != nil {
			t.Fatal(err)
		}
		model.train(batch["dense_input"].Data().([]float32), batch["C"].Data().([]int64), batch["label"].Data().([]float32))
	}
	var scores, labels []float32
	for batch, err := range test.Batches(4096) {
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range batch["label"].Data().([]float32) {
			scores = append(scores, model.score(batch["dense_input"].Data().([]float32)[i*13:][:13], batch["C"].Data().([]int64)[i*20:][:20]))
			labels = append(labels, y)
		}
	}
	got := auc(scores, labels)
	t.Logf("test AUC %.4f on %d flights", got, len(labels))
	if got < 0.78 {
		t.Errorf("test AUC %.4f, want 0.78 or more", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":     {nil, "columns: file"},
		"cut off":   {packed[:len(packed)/2], "columns: file"},
		"other":     {packFlights(t, nil, "speed"), `here stands column "speed"`},
		"unknown":   {packFlights(t, map[string]int{"dest": 7}, ""), "column dest, row 0: 7 is not below 1"},
		"too early": {packFlights(t, map[string]int{"day": -1}, ""), "column day, row 0: -1 is not below 365"},
		"no place":  {packFlights(t, map[string]int{"weather origin": 2}, ""), "weather row 0 is of origin 2"},
	} {
		_, err := Read(bytes.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want == "columns: file" && !errors.Is(err, columns.ErrFile) {
			t.Errorf("%s: %v is no ErrFile", name, err)
		}
	}
	if _, err := Read(bytes.NewReader(packFlights(t, nil, ""))); err != nil {
		t.Errorf("a good file: %v", err)
	}
}

// packFlights packs one flight whose values are 0 or as given; a name puts a column of that name first.
func packFlights(t *testing.T, values map[string]int, first string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := columns.NewWriter(&b)
	if first != "" {
		w.Ints(first, nil)
	}
	for _, name := range []string{"carriers", "origins", "dests", "tails"} {
		w.Strings(name, []string{"A"})
	}
	one := func(name string) []int { return []int{values[name]} }
	for _, name := range []string{"carrier", "flight", "origin", "dest", "day", "dep", "arr", "distance"} {
		w.Ints(name, one(name))
	}
	w.Jumps("tail", one("tail"))
	w.Jumps("late", one("late"))
	for _, name := range []string{"plane year", "plane seats", "plane engines"} {
		w.Ints(name, one(name))
	}
	w.Strings("plane model", []string{"737"})
	w.Ints("weather origin", one("weather origin"))
	w.Ints("weather hour", one("weather hour"))
	for _, c := range WeatherColumns() {
		w.Ints("weather "+c.Name, one("weather "+c.Name))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}

func BenchmarkDataset(b *testing.B) {
	d := load(b)
	for b.Loop() {
		Dataset(d)
	}
	b.ReportMetric(float64(b.N*d.Len())/b.Elapsed().Seconds(), "flights/s")
}
