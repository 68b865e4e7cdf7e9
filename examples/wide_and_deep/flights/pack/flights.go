package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
)

// flight is what is kept of a line.
type flight struct {
	carrier, origin, dest, tail string
	flight, day, dep, arr       int
	distance, late              int
}

const lateMinutes = 15

// readFlights reads the flights that arrived, in an order in which neighbours are alike: the same flight on successive
// days.
func readFlights(path string) ([]flight, error) {
	var all []flight
	err := eachRecord(path, func(rec record) error {
		r := &reading{record: rec}
		if r.text("arr_delay") == "" {
			return r.err
		}
		f := flight{
			carrier: r.text("carrier"), origin: r.text("origin"), dest: r.text("dest"), tail: r.text("tailnum"),
			flight: r.int("flight"), distance: r.int("distance"), day: dayOfYear(r),
			dep: minutes(r.int("sched_dep_time")), arr: minutes(r.int("sched_arr_time")),
		}
		if r.int("arr_delay") > lateMinutes {
			f.late = 1
		}
		all = append(all, f)
		return r.err
	})
	slices.SortFunc(all, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.carrier, b.carrier), cmp.Compare(a.flight, b.flight),
			cmp.Compare(a.origin, b.origin),
			cmp.Compare(a.dest, b.dest), cmp.Compare(a.day, b.day), cmp.Compare(a.dep, b.dep),
			cmp.Compare(a.arr, b.arr),
			cmp.Compare(a.distance, b.distance), cmp.Compare(a.tail, b.tail), cmp.Compare(a.late, b.late))
	})
	return all, err
}

// dayOfYear counts from 0.
func dayOfYear(r *reading) int {
	return time.Date(2013, time.Month(r.int("month")), r.int("day"), 0, 0, 0, 0, time.UTC).YearDay() - 1
}

// minutes turns a clock time such as 1755 into minutes after midnight.
func minutes(clock int) int { return clock/100*60 + clock%100 }

// codes are the texts that columns count in.
type codes struct{ carriers, origins, dests, tails []string }

func writeFlights(w *columns.Writer, all []flight) codes {
	c := codes{
		carriers: distinct(all, func(f flight) string { return f.carrier }),
		origins:  distinct(all, func(f flight) string { return f.origin }),
		dests:    distinct(all, func(f flight) string { return f.dest }),
		tails:    tailsByCarrier(all),
	}
	w.Strings("carriers", c.carriers)
	w.Strings("origins", c.origins)
	w.Strings("dests", c.dests)
	w.Strings("tails", c.tails)
	w.Ints("carrier", coded(all, c.carriers, func(f flight) string { return f.carrier }))
	w.Ints("flight", column(all, func(f flight) int { return f.flight }))
	w.Ints("origin", coded(all, c.origins, func(f flight) string { return f.origin }))
	w.Ints("dest", coded(all, c.dests, func(f flight) string { return f.dest }))
	w.Ints("day", column(all, func(f flight) int { return f.day }))
	w.Ints("dep", column(all, func(f flight) int { return f.dep }))
	w.Ints("arr", column(all, func(f flight) int { return f.arr }))
	w.Ints("distance", column(all, func(f flight) int { return f.distance }))
	w.Jumps("tail", coded(all, c.tails, func(f flight) string { return f.tail }))
	w.Jumps("late", column(all, func(f flight) int { return f.late }))
	return c
}

// distinct is all values of a field, sorted.
func distinct(all []flight, field func(flight) string) []string {
	seen := map[string]bool{}
	var out []string
	for _, f := range all {
		if s := field(f); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// tailsByCarrier is all tail numbers, carrier by carrier in their order: so the numbers
// of neighbouring rows are near each other.
func tailsByCarrier(all []flight) []string {
	seen := map[string]bool{}
	var out []string
	for lo := 0; lo < len(all); {
		hi := lo
		for hi < len(all) && all[hi].carrier == all[lo].carrier {
			hi++
		}
		for _, tail := range distinct(all[lo:hi], func(f flight) string { return f.tail }) {
			if !seen[tail] {
				seen[tail] = true
				out = append(out, tail)
			}
		}
		lo = hi
	}
	return out
}

// coded is a field as places in codes.
func coded(all []flight, codes []string, field func(flight) string) []int {
	place := map[string]int{}
	for i, code := range codes {
		place[code] = i
	}
	return column(all, func(f flight) int { return place[field(f)] })
}

func column(all []flight, field func(flight) int) []int {
	out := make([]int, len(all))
	for i, f := range all {
		out[i] = field(f)
	}
	return out
}
