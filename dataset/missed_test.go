package dataset

import (
	"strings"
	"testing"
)

// TestMissedFieldsAreTold: a field of JSON lines that no line of a whole pass has is told, once, with the name that was probably meant,
// however many goroutines parse; a field that some line has, or that is null, is not.
func TestMissedFieldsAreTold(t *testing.T) {
	line := `{"carrier":"AA","dest":null,"late":1,"gust":3}` + "\n"
	paths := onDisk(t, strings.Repeat(line, 4000), `{"carrier":"B6","late":0,"tail":"N1"}`+"\n", "")
	format := func(fields ...string) JSONLines {
		return JSONLines{Schema: []CSVColumn{{Column: Ints("names", len(fields)), Fields: fields, Hash: 100}, {Column: Floats("late")}}}
	}
	for _, threads := range []int{1, 3} {
		for _, c := range []struct {
			fields []string
			want   []string
		}{
			{[]string{"carrier", "dest", "tail"}, nil},
			{[]string{"carier", "dest", "engine"}, []string{`field=carier files="[`, `meant=carrier`, `field=engine files=`}},
		} {
			log := logged(t, func() {
				if _, err := New(&Files{Paths: paths, Format: format(c.fields...), Threads: threads}).Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if n := strings.Count(log, "no line has this field"); n != len(c.want)/3*2 || strings.Count(log, "meant=") != len(c.want)/3 {
				t.Errorf("%d threads, %q: %d fields are told: %s", threads, c.fields, n, log)
			}
			for _, w := range c.want {
				if !strings.Contains(log, w) {
					t.Errorf("%d threads, %q: %s lacks %s", threads, c.fields, log, w)
				}
			}
		}
	}
	if log := logged(t, func() { // which has not seen all lines
		for range FromFiles(format("engine"), paths...).Batches(10) {
			break
		}
	}); log != "" {
		t.Errorf("a pass that was given up: %s", log)
	}
}
