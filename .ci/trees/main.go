// Command trees writes the flights of examples/wide_and_deep as CSV into a directory, and the clicks of
// examples/ctr_dnn as JSON lines, as files of rows that anyone might have, and which of them a program of fleetrun new
// holds out: at random, and the flights by time too. For .ci/outside trees.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
)

func main() {
	if err := errors.Join(write(os.Args[1]), writeClicks(os.Args[1])); err != nil {
		log.Fatal(err)
	}
}

func write(dir string) error {
	d, err := flights.Load()
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "flights.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, "departs,arrival,carrier,flight,tail,origin,dest,distance,built,seats,engines,model,"+
		"temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,late")
	seconds, late := make([]int64, d.Len()), map[bool]int{true: 1}
	for i := range d.Len() {
		departs := time.Date(2013, 1, 1+d.Day[i], 0, d.Dep[i], 0, 0, time.UTC)
		seconds[i] = departs.Unix()
		plane := d.Planes[d.Tail[i]]
		fmt.Fprintf(out, "%s,%d,%s,%d,%s,%s,%s,%d,%s,%s,%s,%s", departs.Format("2006-01-02 15:04"), d.Arr[i],
			d.Carriers[d.Carrier[i]], d.Flight[i], d.Tails[d.Tail[i]], d.Origins[d.Origin[i]], d.Dests[d.Dest[i]],
			d.Distance[i], known(plane.Year), known(plane.Seats), known(plane.Engines), plane.Model)
		w, ok := d.Weather(i)
		for _, x := range []float32{w.Temp, w.Dewp, w.Humid, w.WindDir, w.WindSpeed, w.WindGust, w.Precip, w.Pressure,
			w.Visib} {
			if !ok || math.IsNaN(float64(x)) {
				fmt.Fprint(out, ",")
			} else {
				fmt.Fprintf(out, ",%v", x)
			}
		}
		fmt.Fprintf(out, ",%d\n", late[d.Late[i]])
	}
	if err := out.Flush(); err != nil {
		return err
	}
	number := make([]int64, d.Len())
	for i := range number {
		number[i] = int64(i)
	}
	rows := dataset.FromColumns(dataset.IntValues("number", number), dataset.IntValues("when", seconds))
	_, random := rows.Split(0.8, 0)
	_, latest := rows.SplitLast("when", 0.8)
	for name, test := range map[string]*dataset.Dataset{"flights-random": random, "flights-latest": latest} {
		if err := list(filepath.Join(dir, name), test); err != nil {
			return err
		}
	}
	return nil
}

// known is a number, or nothing for 0.
func known(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// list writes the numbers of rows into a file.
func list(path string, rows *dataset.Dataset) error {
	b, err := rows.Batch(context.Background())
	if err != nil {
		return err
	}
	var text []byte
	for _, n := range b["number"].Int64s() {
		text = fmt.Appendln(text, n)
	}
	return os.WriteFile(path, text, 0o666)
}
