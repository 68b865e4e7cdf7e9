// Package count has the counters of a process. A package declares its counters where it uses them, as a struct of
// counters and gauges whose tags describe each:
//
//	type meter struct {
//		calls  count.Counter `count:"calls" name:"calls_total" help:"Calls that have returned."`
//		waited count.Counter `count:"waited" name:"waited_seconds_total" help:"Waits of calls for room."`
//		token  count.Counter `count:"refused_token" name:"refused_total" by:"cause=token"`
//		open   count.Gauge   `count:"round" name:"open_round" help:"The round that is open."`
//	}
//
// The key under count joins a counter to the field with the same key in a struct for users ([Fill]), and is its name in
// logs ([Attrs]). The tag name is its Prometheus name in samples ([All]), after gofleet_: in base units, and with
// _total if the number only grows. Members of a family differ by a label, and the first has the help of all. If a meter
// is registered ([Register]), the struct for users gives the same samples ([Samples]). Counting takes one atomic
// addition, or two in a [Histogram]. A struct for users has a field with the fields of [Distribution] for a histogram.
//
// While a CPU profile is taken ([Profiling]), goroutines are labelled with what they work on ([Label]).
package count

import (
	"iter"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// Counter is a number that many goroutines may add to. If its name is in seconds it counts nanoseconds.
type Counter struct{ atomic.Int64 }

// Gauge returns a value that goes up and down; a nil Gauge reads as 0.
type Gauge func() float64

// Sample is a present value, in the base unit of its name.
type Sample struct {
	Key, Name, By, Help string // By is a label: cause=token
	Value               float64
	Of                  *Distribution // for a histogram, whose Value is the number of its values
}

// All returns samples of all counters and gauges of meters, which are pointers to structs.
func All(meters ...any) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for _, meter := range meters {
			for tag, field := range fields(reflect.ValueOf(meter).Elem()) {
				s := Sample{Key: tag.Get("count"), Name: "gofleet_" + tag.Get("name"), By: tag.Get("by"),
					Help: tag.Get("help")}
				switch is := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Interface().(type) {
				case *Counter:
					s.Value = float64(is.Load())
					if strings.Contains(s.Name, "_seconds") {
						s.Value /= float64(time.Second)
					}
				case *Gauge:
					if *is != nil {
						s.Value = (*is)()
					}
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// registered holds the tags of meters' fields, by key.
var registered = map[string]reflect.StructTag{}

// Register makes the tags of meters' fields available to [Samples]. It is called in the initialization of a package's
// variables.
func Register(meters ...any) (done struct{}) {
	for _, meter := range meters {
		for tag := range fields(reflect.ValueOf(meter).Elem()) {
			registered[tag.Get("count")] = tag
		}
	}
	return done
}

var distribution = reflect.TypeFor[Distribution]()

// Samples returns samples of the fields of a struct for users that have a name, by their own tags or by those of a
// registered meter.
func Samples(stats any) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for tag, field := range fields(reflect.ValueOf(stats)) {
			key := tag.Get("count")
			if tag.Get("name") == "" {
				tag = registered[key]
			}
			s := Sample{Key: key, Name: "gofleet_" + tag.Get("name"), By: tag.Get("by"), Help: tag.Get("help")}
			switch {
			case field.Type() == reflect.TypeFor[time.Duration]():
				s.Value = time.Duration(field.Int()).Seconds()
			case field.CanConvert(distribution):
				d := field.Convert(distribution).Interface().(Distribution)
				s.Of, s.Value = &d, float64(d.Count())
			case field.CanUint():
				s.Value = float64(field.Uint())
			default:
				s.Value = float64(field.Int())
			}
			if tag.Get("name") != "" && !yield(s) {
				return
			}
		}
	}
}

// Fill adds the counts of meters to the fields of stats with the same keys; stats is a pointer to a struct.
func Fill(stats any, meters ...any) {
	is := map[string]float64{}
	for s := range All(meters...) {
		is[s.Key] += s.Value
	}
	for tag, field := range fields(reflect.ValueOf(stats).Elem()) {
		if tag.Get("count") == "" {
			continue
		}
		v := is[tag.Get("count")]
		if field.Type() == reflect.TypeFor[time.Duration]() {
			v *= float64(time.Second)
		}
		field.SetInt(field.Int() + int64(math.Round(v)))
	}
}

// Attrs returns the fields of a struct that have a key and are not zero.
func Attrs(stats any) (attrs []slog.Attr) {
	for tag, field := range fields(reflect.ValueOf(stats)) {
		if tag.Get("count") != "" && !field.IsZero() {
			attrs = append(attrs, slog.Any(tag.Get("count"), field.Interface()))
		}
	}
	return attrs
}

// fields iterates over the fields of a struct that have a key or a name, also in structs within it.
func fields(of reflect.Value) iter.Seq2[reflect.StructTag, reflect.Value] {
	return func(yield func(reflect.StructTag, reflect.Value) bool) { walk(of, yield) }
}

func walk(of reflect.Value, yield func(reflect.StructTag, reflect.Value) bool) bool {
	for i := range of.NumField() {
		tag, field := of.Type().Field(i).Tag, of.Field(i)
		switch {
		case tag.Get("count") != "", tag.Get("name") != "":
			if !yield(tag, field) {
				return false
			}
		case field.Kind() == reflect.Struct:
			if !walk(field, yield) {
				return false
			}
		}
	}
	return true
}

// Keys returns the keys of a struct's fields.
func Keys(stats any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for tag := range fields(reflect.ValueOf(stats)) {
			if key := tag.Get("count"); key != "" && !yield(key) {
				return
			}
		}
	}
}
