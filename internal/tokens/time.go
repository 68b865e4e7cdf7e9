package tokens

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// Part names a part of a time, as descriptions of formats do.
type Part string

// parts holds functions for the parts, which are whole numbers: of the time's own clock and calendar, except seconds,
// which count from 1970 in UTC.
var parts = map[Part]func(t time.Time) int64{
	"minute":   func(t time.Time) int64 { return int64(60*t.Hour() + t.Minute()) },
	"hour":     func(t time.Time) int64 { return int64(t.Hour()) },
	"weekday":  func(t time.Time) int64 { return int64(t.Weekday()+6)%7 + 1 },
	"day":      func(t time.Time) int64 { return int64(t.Day()) },
	"month":    func(t time.Time) int64 { return int64(t.Month()) },
	"year_day": func(t time.Time) int64 { return int64(t.YearDay()) },
	"year":     func(t time.Time) int64 { return int64(t.Year()) },
	"seconds":  time.Time.Unix,
}

// check returns an error if a layout does not contain the part. It formats times and parses them back.
func (p Part) check(layout string) error {
	part, ok := parts[p]
	if !ok {
		return fmt.Errorf("Part is %q: want one of %q", p, slices.Sorted(maps.Keys(parts)))
	}
	if numeric(layout) > 0 {
		return nil
	}
	for _, t := range []time.Time{time.Date(2013, 11, 27, 17, 45, 0, 0, time.UTC),
		time.Date(2026, 2, 8, 6, 9, 0, 0, time.UTC)} {
		if p == "seconds" { // a layout of days suffices
			t = t.Truncate(24 * time.Hour)
		}
		if back, err := time.ParseInLocation(layout, t.Format(layout), time.UTC); err != nil || part(back) != part(t) {
			return fmt.Errorf("Layout %q doesn't say the %s: write the time 2006-01-02 15:04:05 as the field would, "+
				"as package time has layouts", layout, p)
		}
	}
	return nil
}

// numeric returns how many units of a numeric layout are a second; 0 for a layout of package time.
func numeric(layout string) float64 {
	switch layout {
	case "":
		return 1
	case "ms":
		return 1000
	}
	return 0
}

// example describes a value that a layout parses.
func example(layout string) string {
	if unit := numeric(layout); unit > 0 {
		return fmt.Sprintf("a number of seconds since 1970, such as %d", int64(1136214245*unit))
	}
	return fmt.Sprintf("a time such as %q", layout)
}

// last is the largest number of seconds since 1970 that counts as a time, in the year 9999. Milliseconds exceed it.
const last = 253402300799

// clock parses times by a layout. The parts of a field share one, which parses a value once.
type clock struct {
	layout string
	text   []byte // the last value
	time   time.Time
	ok     bool
}

func (c *clock) read(text []byte) (time.Time, bool) {
	if c.ok && string(text) == string(c.text) {
		return c.time, true
	}
	c.text = append(c.text[:0], text...)
	if unit := numeric(c.layout); unit > 0 {
		x, is := number(text)
		x = math.Floor(x / unit)
		c.ok = is && math.Abs(x) <= last
		c.time = time.Unix(int64(x), 0).UTC()
		return c.time, c.ok
	}
	// ParseInLocation, since Parse interprets abbreviations of zones by the machine's zone.
	t, err := time.ParseInLocation(c.layout, string(text), time.UTC)
	c.time, c.ok = t, err == nil
	return t, c.ok
}

// AppendTime appends a time in a layout.
func AppendTime(b []byte, t time.Time, layout string) []byte {
	switch numeric(layout) {
	case 1:
		return fmt.Append(b, t.Unix())
	case 1000:
		return fmt.Append(b, t.UnixMilli())
	}
	return t.AppendFormat(b, layout)
}

// number parses a decimal number, without the words and hexadecimal digits that strconv accepts.
func number(text []byte) (float64, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(string(text), 64)
	return x, err == nil
}
