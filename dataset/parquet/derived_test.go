package parquet

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gofleet/gofleet/dataset"
)

// trip has times in each way that a file may, and what buckets and crosses are made of.
type trip struct {
	Micros  time.Time        `parquet:"micros,timestamp(microsecond)"`
	Nanos   time.Time        `parquet:"nanos,timestamp(nanosecond)"`
	Day     int32            `parquet:"day,date"`
	Spark   deprecated.Int96 `parquet:"spark"`
	Text    string           `parquet:"text,dict"`
	Seconds int64            `parquet:"seconds"`
	Far     *float64         `parquet:"far,optional"`
	Origin  string           `parquet:"origin"`
	Gate    int32            `parquet:"gate"`
	List    []int64          `parquet:"list"`
}

// int96 is a time as Spark writes it: nanoseconds of a day, and the Julian day.
func int96(t time.Time) deprecated.Int96 {
	day := int64(math.Floor(float64(t.Unix()) / 86400))
	nanos := t.UnixNano() - day*86400*1e9
	return deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(day + 2440588)}
}

// TestDerivedIsThatOfLines: what is made of the columns of a file is made of lines with the same values, by any number of goroutines, in
// parts of any size.
func TestDerivedIsThatOfLines(t *testing.T) {
	var rows []trip
	var lines strings.Builder
	for i := range 200 {
		at := time.Date(1969, 12, 30, 23, 0, 0, 0, time.UTC).Add(time.Duration(i) * 1234567 * time.Second)
		r := trip{Micros: at, Nanos: at, Day: int32(math.Floor(float64(at.Unix()) / 86400)), Spark: int96(at), Text: at.Format(time.RFC3339), Seconds: at.Unix(), Origin: fmt.Sprintf("o%d", i%7), Gate: int32(i % 5), List: []int64{1}}
		far := "null"
		if i%3 > 0 {
			r.Far, far = new(float64(i)/4), fmt.Sprint(float64(i)/4)
		}
		rows = append(rows, r)
		fmt.Fprintf(&lines, `{"micros": %q, "spark": %[1]q, "nanos": %q, "day": %q, "text": %q, "seconds": %d, "far": %s, "origin": %q, "gate": %d}`+"\n",
			at.Format(time.DateTime), at.Format(time.DateTime), at.Format(time.DateOnly), r.Text, r.Seconds, far, r.Origin, r.Gate)
	}
	derived := []dataset.Derived{
		{Name: "hour", From: []string{"micros"}, Part: dataset.Hour, Layout: time.DateTime},
		{Name: "minute", From: []string{"nanos"}, Part: dataset.Minute, Layout: time.DateTime},
		{Name: "when", From: []string{"nanos"}, Part: dataset.Seconds, Layout: time.DateTime},
		{Name: "weekday", From: []string{"day"}, Part: dataset.Weekday, Layout: time.DateOnly},
		{Name: "month", From: []string{"text"}, Part: dataset.Month, Layout: time.RFC3339},
		{Name: "year", From: []string{"seconds"}, Part: dataset.Year},
		{Name: "bucket", From: []string{"far"}, Buckets: []float64{10, 20.25, 40}},
		{Name: "spark hour", From: []string{"spark"}, Part: dataset.Hour, Layout: time.DateTime},
		{Name: "spark seconds", From: []string{"spark"}, Part: dataset.Seconds, Layout: time.DateTime},
		{Name: "cross", From: []string{"origin", "gate", "bucket", "hour"}},
	}
	file := fstest.MapFS{"f": {Data: written(t, rows, 64)}}
	for _, c := range []dataset.CSVColumn{
		{Fields: []string{"hour", "minute", "weekday", "month", "year", "gate"}, Column: dataset.Ints("x", 6)},
		{Fields: []string{"when", "spark hour", "spark seconds"}, Column: dataset.Ints("x", 3)},
		{Fields: []string{"bucket", "year"}, Column: dataset.Floats("x", 2), Missing: "-1", Scale: []dataset.Scaling{{Std: 2}, {Mean: 1970}}},
		{Fields: []string{"cross", "bucket", "origin"}, Column: dataset.Ints("x", 3), Hash: 1 << 32},
	} {
		schema := []dataset.CSVColumn{c}
		want := outcome(t.Context(), dataset.FromReader(strings.NewReader(lines.String()), "lines", dataset.JSONLines{Derived: derived, Schema: schema}))
		for _, threads := range []int{1, 3} {
			got := outcome(t.Context(), dataset.New(&Files{FS: file, Paths: []string{"f", "f"}, Derived: derived, Schema: schema, Threads: threads}))
			if got = strings.Trim(got, "[]"); got != strings.Trim(want, "[]")+" "+strings.Trim(want, "[]") {
				t.Errorf("%s by %d: %.300s, those of lines %.300s", c.Fields, threads, got, want)
			}
		}
	}
	for want, d := range map[string]dataset.Derived{
		`column "far" holds DOUBLE, and a cross is of texts`:                             {From: []string{"far", "gate"}},
		`column "day" holds DATE, and a cross`:                                           {From: []string{"day", "gate"}},
		`column "micros" holds TIMESTAMP`:                                                {From: []string{"origin", "micros"}},
		`column "micros" holds TIMESTAMP(isAdjustedToUTC=true,unit=MICROS), and Buckets`: {From: []string{"micros"}, Buckets: []float64{1}},
		`column "list" is a list, and a derived`:                                         {From: []string{"list"}, Buckets: []float64{1}},
		`unknown column "nine"`:                                                          {From: []string{"nine"}, Buckets: []float64{1}},
		`bad row: f:1: field origin: want a number, to make "d" of it, got "o0"`:         {From: []string{"origin"}, Buckets: []float64{1}},
		`f:1: field text: want a time such as "2006-01-02", to make "d" of it, got "1`:   {From: []string{"text"}, Part: dataset.Day, Layout: time.DateOnly},
		`field d: want a number, got null`:                                               {From: []string{"far"}, Buckets: []float64{1}},
	} {
		d.Name = "d"
		column := dataset.CSVColumn{Column: dataset.Ints("x"), Fields: []string{"d"}}
		if d.Buckets == nil && d.Part == "" {
			column.Hash = 9
		}
		if got := outcome(t.Context(), dataset.New(&Files{FS: file, Paths: []string{"f"}, Derived: []dataset.Derived{d}, Schema: []dataset.CSVColumn{column}})); !strings.Contains(got, want) {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
