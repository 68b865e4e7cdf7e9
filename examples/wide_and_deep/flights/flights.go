// Package flights is the 327,346 flights that left New York's three airports in 2013 and arrived, with the hourly
// weather there and what is known of the planes. All of it is in the program itself, packed to well under a megabyte
// (README.md says how, and where it is from).
//
//	data, err := flights.Load()
//	rows := flights.Dataset(data)              // dense_input, C, label: what wide & deep eats
//	train, test := rows.Split(0.8, 1)
//	for batch, err := range train.Shuffle(1).Batches(512) { … }
//
// The question is whether a flight arrives more than 15 minutes late (23.7 % do), given what is known when it is
// scheduled and the weather in the hour of departure. What is known only afterwards (actual times, the delay at
// departure) isn't kept.
package flights

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
)

//go:embed flights.gz
var packed []byte

// Data is all flights in the order of their scheduled departure: row i of every column is flight i.
type Data struct {
	// Carriers, Origins, Dests and Tails are the codes that Carrier, Origin, Dest and Tail count in: "UA", "EWR",
	// "IAH", "N14228".
	Carriers, Origins, Dests, Tails []string
	Carrier, Origin, Dest, Tail     []int
	// Flight is the carrier's number of the flight.
	Flight []int
	// Day is the day of 2013, from 0.
	Day []int
	// Dep and Arr are the scheduled times, in minutes after midnight where the flight leaves and where it arrives.
	Dep, Arr []int
	// Distance is in miles.
	Distance []int
	// Late is whether it arrived more than 15 minutes after schedule.
	Late []bool
	// Planes tells of each of Tails what is known.
	Planes []Plane

	weather weather
}

// Plane is what is known of an aeroplane: year of manufacture, seats, engines, model. 0 or "" is unknown.
type Plane struct {
	Year, Seats, Engines int
	Model                string
}

// Len is the number of flights.
func (d *Data) Len() int { return len(d.Late) }

// Load unpacks the flights.
func Load() (*Data, error) { return Read(bytes.NewReader(packed)) }

// Read unpacks flights from a file that the program in folder pack wrote.
func Read(r io.Reader) (*Data, error) {
	d := &Data{}
	c := columns.NewReader(r)
	late := d.readFlights(c)
	d.readPlanes(c)
	weatherErr := d.weather.read(c, len(d.Origins))
	if err := c.Close(); err != nil { // first: if the file is broken, nothing else is worth saying
		return nil, fmt.Errorf("flights: %w", err)
	}
	if weatherErr != nil {
		return nil, weatherErr
	}
	for _, v := range late {
		d.Late = append(d.Late, v != 0)
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	d.sortByTime()
	return d, nil
}

func (d *Data) readFlights(c *columns.Reader) (late []int) {
	d.Carriers, d.Origins = c.Strings("carriers"), c.Strings("origins")
	d.Dests, d.Tails = c.Strings("dests"), c.Strings("tails")
	d.Carrier, d.Flight = c.Ints("carrier"), c.Ints("flight")
	d.Origin, d.Dest, d.Day = c.Ints("origin"), c.Ints("dest"), c.Ints("day")
	d.Dep, d.Arr, d.Distance = c.Ints("dep"), c.Ints("arr"), c.Ints("distance")
	d.Tail = c.Jumps("tail")
	return c.Jumps("late")
}

func (d *Data) readPlanes(c *columns.Reader) {
	years, seats, engines := c.Ints("plane year"), c.Ints("plane seats"), c.Ints("plane engines")
	models := c.Strings("plane model")
	for i := range min(len(years), len(seats), len(engines), len(models)) {
		d.Planes = append(d.Planes, Plane{years[i], seats[i], engines[i], models[i]})
	}
}

// check makes sure that a column has a value for every flight and that codes and times are in range.
func (d *Data) check() error {
	if len(d.Planes) != len(d.Tails) {
		return fmt.Errorf("flights: %d planes for %d tail numbers", len(d.Planes), len(d.Tails))
	}
	for _, c := range []struct {
		name   string
		values []int
		below  int
	}{
		{"carrier", d.Carrier, len(d.Carriers)}, {"origin", d.Origin, len(d.Origins)}, {"dest", d.Dest, len(d.Dests)},
		{"tail", d.Tail, len(d.Tails)}, {"flight", d.Flight, 1e5}, {"day", d.Day, days},
		{"dep", d.Dep, dayMinutes}, {"arr", d.Arr, dayMinutes + 1}, {"distance", d.Distance, 1e5},
	} {
		if len(c.values) != d.Len() {
			return fmt.Errorf("flights: column %s has %d rows of %d", c.name, len(c.values), d.Len())
		}
		for i, v := range c.values {
			if v < 0 || v >= c.below {
				return fmt.Errorf("flights: column %s, row %d: %d is not below %d", c.name, i, v, c.below)
			}
		}
	}
	return nil
}

const (
	days       = 365
	dayMinutes = 24 * 60
)

// sortByTime puts flights in the order of their scheduled departure; in one minute they stay as the file has them.
func (d *Data) sortByTime() {
	minute := func(i int) int { return d.Day[i]*dayMinutes + d.Dep[i] }
	first := make([]int, days*dayMinutes+1)
	for i := range d.Late {
		first[minute(i)+1]++
	}
	for m := range days * dayMinutes {
		first[m+1] += first[m]
	}
	order := make([]int, d.Len())
	for i := range d.Late {
		m := minute(i)
		order[first[m]] = i
		first[m]++
	}
	for _, c := range []*[]int{&d.Carrier, &d.Origin, &d.Dest, &d.Tail, &d.Flight, &d.Day, &d.Dep, &d.Arr,
		&d.Distance} {
		*c = reorder(*c, order)
	}
	d.Late = reorder(d.Late, order)
}

func reorder[T any](values []T, order []int) []T {
	out := make([]T, len(values))
	for to, from := range order {
		out[to] = values[from]
	}
	return out
}
