package flights

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights/columns"
)

// Weather is the weather at an airport in one hour. A value that wasn't taken is NaN.
type Weather struct {
	Temp, Dewp float32 // °F
	Humid      float32 // relative humidity, %
	WindDir    float32 // degrees
	WindSpeed  float32 // miles an hour
	WindGust   float32 // miles an hour; NaN in most hours
	Precip     float32 // inches
	Pressure   float32 // millibars, at sea level
	Visib      float32 // miles
}

// Weather is the weather where flight i leaves in the hour of its scheduled departure, and whether it was taken.
func (d *Data) Weather(i int) (w Weather, ok bool) {
	at := d.weather.index[d.Origin[i]*hours+d.Day[i]*24+d.Dep[i]/60]
	if at < 0 {
		return Weather{}, false
	}
	return d.weather.records[at], true
}

// hours of the year.
const hours = days * 24

// weather is the records of all airports and hours.
type weather struct {
	records []Weather
	index   []int // record of origin*hours + hour of the year; -1 if there is none
}

// mph is a knot in miles an hour, as the data have it.
const mph = 1.15078

// Missing stands in the packed file for a value that wasn't taken.
const Missing = -9999

// WeatherColumn is a measured column of the packed file, which holds whole units: Scale of them make one of
// [Weather]'s.
type WeatherColumn struct {
	Name  string
	Scale float64
	field func(*Weather) *float32
}

// WeatherColumns are the measured columns of the packed file, in order.
func WeatherColumns() []WeatherColumn {
	return []WeatherColumn{
		{"temp", 100, func(w *Weather) *float32 { return &w.Temp }},
		{"dewp", 100, func(w *Weather) *float32 { return &w.Dewp }},
		{"humid", 100, func(w *Weather) *float32 { return &w.Humid }},
		{"wind_dir", 1, func(w *Weather) *float32 { return &w.WindDir }},
		{"wind_speed", 1 / mph, func(w *Weather) *float32 { return &w.WindSpeed }},
		{"wind_gust", 1 / mph, func(w *Weather) *float32 { return &w.WindGust }},
		{"precip", 100, func(w *Weather) *float32 { return &w.Precip }},
		{"pressure", 10, func(w *Weather) *float32 { return &w.Pressure }},
		{"visib", 100, func(w *Weather) *float32 { return &w.Visib }},
	}
}

// read reads the records of so many origins.
func (w *weather) read(c *columns.Reader, origins int) error {
	origin, hour := c.Ints("weather origin"), c.Ints("weather hour")
	w.records = make([]Weather, len(hour))
	for _, f := range WeatherColumns() {
		values := c.Ints("weather " + f.Name)
		if len(values) != len(hour) || len(origin) != len(hour) {
			return fmt.Errorf("flights: weather column %s has %d rows of %d", f.Name, len(values), len(hour))
		}
		for i, v := range values {
			*f.field(&w.records[i]) = unscale(v, f.Scale)
		}
	}
	w.index = make([]int, origins*hours)
	for i := range w.index {
		w.index[i] = -1
	}
	for i := range hour {
		if origin[i] < 0 || origin[i] >= origins || hour[i] < 0 || hour[i] >= hours {
			return fmt.Errorf("flights: weather row %d is of origin %d, hour %d", i, origin[i], hour[i])
		}
		w.index[origin[i]*hours+hour[i]] = i
	}
	return nil
}

func unscale(v int, scale float64) float32 {
	if v == Missing {
		return float32(math.NaN())
	}
	return float32(float64(v) / scale)
}

// values points to each measured value.
func (w *Weather) values() [9]*float32 {
	return [...]*float32{&w.Temp, &w.Dewp, &w.Humid, &w.WindDir, &w.WindSpeed, &w.WindGust, &w.Precip, &w.Pressure,
		&w.Visib}
}

// means is the mean of each value over the records that have it.
func (w *weather) means() (means Weather) {
	var sums, counts [9]float64
	for i := range w.records {
		for j, v := range w.records[i].values() {
			if !isNaN(*v) {
				sums[j] += float64(*v)
				counts[j]++
			}
		}
	}
	for j, v := range means.values() {
		*v = float32(sums[j] / max(counts[j], 1))
	}
	return means
}

// fill puts means where a value wasn't taken; no gusts are gusts of the wind's speed.
func (w *Weather) fill(means *Weather) {
	if isNaN(w.WindGust) {
		w.WindGust = w.WindSpeed
	}
	m := means.values()
	for j, v := range w.values() {
		if isNaN(*v) {
			*v = *m[j]
		}
	}
}

func isNaN(x float32) bool { return x != x }
