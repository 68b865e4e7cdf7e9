package flights

import (
	"math"
	"time"
)

// flight is one flight with everything that features are made of.
type flight struct {
	carrier, number, tail, origin, dest int
	day, month, weekday, hour, dep, arr int
	distance                            int
	plane                               Plane
	weather                             Weather // no NaN: means stand in
}

// maker makes flights: it holds what would else be worked out again for each.
type maker struct {
	*Data
	means          Weather
	month, weekday [days]int
}

func newMaker(d *Data) *maker {
	m := &maker{Data: d, means: d.weather.means()}
	for day := range days {
		date := time.Date(2013, 1, 1+day, 0, 0, 0, 0, time.UTC)
		m.month[day], m.weekday[day] = int(date.Month())-1, int(date.Weekday())
	}
	return m
}

func (m *maker) flight(i int) flight {
	w, ok := m.Weather(i)
	if !ok {
		w = m.means
	}
	w.fill(&m.means)
	day, dep := m.Day[i], m.Dep[i]
	return flight{
		carrier: m.Carrier[i], number: m.Flight[i], tail: m.Tail[i], origin: m.Origin[i], dest: m.Dest[i],
		day: day, month: m.month[day], weekday: m.weekday[day], hour: dep / 60, dep: dep, arr: m.Arr[i],
		distance: m.Distance[i], plane: m.Planes[m.Tail[i]], weather: w,
	}
}

// number is a feature of dense_input.
type number struct {
	name  string
	value func(*flight) float32
}

var numbers = []number{
	{"sin of departure time", func(f *flight) float32 { return sin(f.dep) }},
	{"cos of departure time", func(f *flight) float32 { return cos(f.dep) }},
	{"log of distance", func(f *flight) float32 { return float32(math.Log1p(float64(f.distance))) - 6.7 }},
	{"scheduled duration", func(f *flight) float32 { return float32((f.arr-f.dep+dayMinutes)%dayMinutes)/200 - 1 }},
	{"age of plane", age},
	{"temperature", func(f *flight) float32 { return (f.weather.Temp - 57) / 20 }},
	{"dew point", func(f *flight) float32 { return (f.weather.Dewp - 42) / 20 }},
	{"humidity", func(f *flight) float32 { return (f.weather.Humid - 60) / 20 }},
	{"wind speed", func(f *flight) float32 { return (f.weather.WindSpeed - 11) / 6 }},
	{"gusts", func(f *flight) float32 { return f.weather.WindGust / 20 }},
	{"precipitation", func(f *flight) float32 { return float32(math.Min(2, math.Sqrt(10*float64(f.weather.Precip)))) }},
	{"pressure", func(f *flight) float32 { return (f.weather.Pressure - 1018) / 8 }},
	{"visibility", func(f *flight) float32 { return (f.weather.Visib - 9) / 2 }},
}

func sin(minute int) float32 { return float32(math.Sin(2 * math.Pi * float64(minute) / dayMinutes)) }
func cos(minute int) float32 { return float32(math.Cos(2 * math.Pi * float64(minute) / dayMinutes)) }

func age(f *flight) float32 {
	if f.plane.Year == 0 {
		return 0
	}
	return float32(2013-f.plane.Year)/10 - 1
}

// category is a feature of C.
type category struct {
	name string
	key  func(*flight) uint64
}

// cross joins up to four values below 65,536 into one key.
func cross(values ...int) uint64 {
	key := uint64(0)
	for _, v := range values {
		key = key<<16 | uint64(v)
	}
	return key
}

var categories = []category{
	{"carrier × origin", func(f *flight) uint64 { return cross(f.carrier, f.origin) }},
	{"dest", func(f *flight) uint64 { return cross(f.dest) }},
	{"route", func(f *flight) uint64 { return cross(f.origin, f.dest) }},
	{"carrier × hour", func(f *flight) uint64 { return cross(f.carrier, f.hour) }},
	{"carrier × flight number", func(f *flight) uint64 { return cross(f.carrier, f.number) }},
	{"tail", func(f *flight) uint64 { return cross(f.tail) }},
	{"dest × hour", func(f *flight) uint64 { return cross(f.dest, f.hour) }},
	{"weekday × hour", func(f *flight) uint64 { return cross(f.weekday, f.hour) }},
	{"month × dest", func(f *flight) uint64 { return cross(f.month, f.dest) }},
	{"month × hour", func(f *flight) uint64 { return cross(f.month, f.hour) }},
	{"date", func(f *flight) uint64 { return cross(f.day) }},
	{"date × origin", func(f *flight) uint64 { return cross(f.day, f.origin) }},
	{"date × origin × 3h", func(f *flight) uint64 { return cross(f.day, f.origin, f.hour/3) }},
	{"date × dest", func(f *flight) uint64 { return cross(f.day, f.dest) }},
	{"date × carrier", func(f *flight) uint64 { return cross(f.day, f.carrier) }},
	{"date × hour", func(f *flight) uint64 { return cross(f.day, f.hour) }},
	{"date × carrier × origin × 6h", func(f *flight) uint64 { return cross(f.day, f.carrier, f.origin, f.hour/6) }},
	{"wind × origin", func(f *flight) uint64 {
		return cross(f.origin, int(f.weather.WindDir/30),
			int(f.weather.WindSpeed/6))
	}},
	{"visibility × precipitation × origin",
		func(f *flight) uint64 { return cross(f.origin, int(f.weather.Visib/2), int(f.weather.Precip*20)) }},
	{"hour × origin", func(f *flight) uint64 { return cross(f.hour, f.origin) }},
}
