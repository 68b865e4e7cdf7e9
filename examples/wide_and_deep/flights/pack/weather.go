package main

import (
	"cmp"
	"slices"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
)

// plane is what is kept of an aeroplane.
type plane struct {
	year, seats, engines int
	model                string
}

func readPlanes(path string) (map[string]plane, error) {
	planes := map[string]plane{}
	err := eachRecord(path, func(rec record) error {
		r := &reading{record: rec}
		planes[r.text("tailnum")] = plane{r.int("year"), r.int("seats"), r.int("engines"), r.text("model")}
		return r.err
	})
	return planes, err
}

// writePlanes writes the plane of each tail number; zeros for one that isn't known.
func writePlanes(w *columns.Writer, tails []string, planes map[string]plane) {
	years, seats, engines := make([]int, len(tails)), make([]int, len(tails)), make([]int, len(tails))
	models := make([]string, len(tails))
	for i, tail := range tails {
		p := planes[tail]
		years[i], seats[i], engines[i], models[i] = p.year, p.seats, p.engines, p.model
	}
	w.Ints("plane year", years)
	w.Ints("plane seats", seats)
	w.Ints("plane engines", engines)
	w.Strings("plane model", models)
}

// hourly is the weather at an airport in one hour: whole units, as flights.WeatherColumns counts them.
type hourly struct {
	origin string
	hour   int
	values []int
}

// readWeather reads the first record of each airport and hour.
func readWeather(path string) ([]hourly, error) {
	var all []hourly
	err := eachRecord(path, func(rec record) error {
		r := &reading{record: rec}
		h := hourly{origin: r.text("origin"), hour: dayOfYear(r)*24 + r.int("hour")}
		for _, c := range flights.WeatherColumns() {
			h.values = append(h.values, r.whole(c.Name, c.Scale, flights.Missing))
		}
		all = append(all, h)
		return r.err
	})
	sameHour := func(a, b hourly) int { return cmp.Or(cmp.Compare(a.origin, b.origin), cmp.Compare(a.hour, b.hour)) }
	slices.SortStableFunc(all, sameHour)
	return slices.CompactFunc(all, func(a, b hourly) bool { return sameHour(a, b) == 0 }), err
}

func writeWeather(w *columns.Writer, origins []string, all []hourly) {
	values := make([]int, len(all))
	write := func(name string, value func(hourly) int) {
		for i, h := range all {
			values[i] = value(h)
		}
		w.Ints("weather "+name, values)
	}
	write("origin", func(h hourly) int { return slices.Index(origins, h.origin) })
	write("hour", func(h hourly) int { return h.hour })
	for i, c := range flights.WeatherColumns() {
		write(c.Name, func(h hourly) int { return h.values[i] })
	}
}
