// Package count is what a process counts of itself. A part declares what it counts where it counts it, as a struct of
// counters and gauges whose tags say what each is:
//
//	type meter struct {
//		calls  count.Counter `count:"calls" name:"calls_total" help:"Calls that have returned."`
//		waited count.Counter `count:"waited" name:"waited_seconds_total" help:"Waits of calls for room."`
//		token  count.Counter `count:"refused_token" name:"refused_total" by:"cause=token"`
//		open   count.Gauge   `count:"round" name:"open_round" help:"The round that is open."`
//	}
//
// The key under count joins it to the field of a struct for users with the same key ([Fill]), and is its name in logs
// ([Attrs]). Under name it has a Prometheus name for samples ([All]), behind gofleet_: base units, and _total where a
// number only grows; members of a family differ by a label, and the first has the help of all. Where a meter is
// registered ([Register]), the struct for users gives the same samples ([Samples]). To count is one atomic addition, or
// two in a [Histogram], which stands in a struct for users as a field that has the fields of a [Distribution].
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

// Counter is a number that many goroutines add to. Where its name is of seconds it counts nanoseconds.
type Counter struct{ atomic.Int64 }

// Gauge reads a value that goes up and down; nil reads nothing.
type Gauge func() float64

// Sample is a value at this moment, in the base unit of its name.
type Sample struct {
	Key, Name, By, Help string // By is a label: cause=token
	Value               float64
	Of                  *Distribution // of a histogram, whose Value is the number of its values
}

// All reads all counters and gauges of meters, which are pointers to structs.
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

// registered are the tags of meters' fields, by key.
var registered = map[string]reflect.StructTag{}

// Register has [Samples] know what meters of some types count. It is called where a package's variables are made.
func Register(meters ...any) (done struct{}) {
	for _, meter := range meters {
		for tag := range fields(reflect.ValueOf(meter).Elem()) {
			registered[tag.Get("count")] = tag
		}
	}
	return done
}

var distribution = reflect.TypeFor[Distribution]()

// Samples reads the fields of a struct for users whose tags, or a registered meter, say what they are called.
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

// Fill adds what meters have counted to the fields of stats, a pointer to a struct, that have the same keys.
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

// Attrs are the fields of a struct with a key that are not zero.
func Attrs(stats any) (attrs []slog.Attr) {
	for tag, field := range fields(reflect.ValueOf(stats)) {
		if tag.Get("count") != "" && !field.IsZero() {
			attrs = append(attrs, slog.Any(tag.Get("count"), field.Interface()))
		}
	}
	return attrs
}

// fields are the fields of a struct that have a key or a name, also of structs in it.
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

// Keys are the keys of a struct's fields.
func Keys(stats any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for tag := range fields(reflect.ValueOf(stats)) {
			if key := tag.Get("count"); key != "" && !yield(key) {
				return
			}
		}
	}
}
