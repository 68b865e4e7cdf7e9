// Program pack writes flights.gz from the csv files of nycflights13:
//
//	go run ./examples/wide_and_deep/flights/pack -flights flights.csv -planes planes.csv -weather weather.csv \
//		-out examples/wide_and_deep/flights/flights.gz
//
// Each file may be plain or gzip. The same input gives the same output, byte for byte.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
)

func main() {
	var in inputs
	flag.StringVar(&in.flights, "flights", "flights.csv", "the `file` of flights")
	flag.StringVar(&in.planes, "planes", "planes.csv", "the `file` of planes")
	flag.StringVar(&in.weather, "weather", "weather.csv", "the `file` of weather")
	out := flag.String("out", "flights.gz", "the `file` to write")
	flag.Parse()
	if err := run(in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

type inputs struct{ flights, planes, weather string }

func run(in inputs, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := pack(in, f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// pack writes all three tables.
func pack(in inputs, out io.Writer) error {
	flights, err := readFlights(in.flights)
	if err != nil {
		return err
	}
	planes, err := readPlanes(in.planes)
	if err != nil {
		return err
	}
	weather, err := readWeather(in.weather)
	if err != nil {
		return err
	}
	w := columns.NewWriter(out)
	codes := writeFlights(w, flights)
	writePlanes(w, codes.tails, planes)
	writeWeather(w, codes.origins, weather)
	return w.Close()
}
