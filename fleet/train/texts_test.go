package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// person is a row of people's file, as it is written.
type person struct{ id, date, age, amount, city, y string }

// people is a file of rows that are right; a test spoils them.
func people(n int, spoil func(i int, p *person)) (rows []person) {
	r := rand.New(rand.NewPCG(3, 3))
	cities := []string{"Paris", "Rome", "Oslo", "Bern", "Wien"}
	for i := range n {
		age, amount, city := 18+r.IntN(63), math.Exp(6+.8*r.NormFloat64()), r.IntN(5)
		z := float64(age-45)/12 + (amount-500)/600 + []float64{1, -1, 0, 0, 0}[city]
		p := person{fmt.Sprint(100000 + i), fmt.Sprintf("2021-%02d-%02d", 1+r.IntN(12), 1+r.IntN(28)), fmt.Sprint(age),
			fmt.Sprintf("%.2f", amount), cities[city], "0"}
		if r.Float64() < 1/(1+math.Exp(-z)) {
			p.y = "1"
		}
		spoil(i, &p)
		rows = append(rows, p)
	}
	return rows
}

func csvOf(rows []person) string {
	var text strings.Builder
	text.WriteString("id,date,age,amount,city,y\n")
	for _, p := range rows {
		fmt.Fprintf(&text, "%s,%s,%s,%s,%s,%s\n", p.id, p.date, p.age, p.amount, p.city, p.y)
	}
	return text.String()
}

func jsonOf(rows []person) string {
	var text strings.Builder
	for _, p := range rows {
		fmt.Fprintf(&text, `{"id":%q,"date":%q,"age":%q,"amount":%q,"city":%q,"y":%s}`+"\n", p.id, p.date, p.age, p.amount, p.city, p.y)
	}
	return text.String()
}

// TestCheckOfTexts: what a file says before anything is made of it: each fault is one finding, that names the field.
func TestCheckOfTexts(t *testing.T) {
	t.Parallel()
	every := func(k int, set func(*person)) func(i int, p *person) {
		return func(i int, p *person) {
			if i%k == 0 {
				set(p)
			}
		}
	}
	dated := func(i int, p *person) { p.date = fmt.Sprintf("2021-%02d-%02d", 1+i/200, 1+i%200/8) }
	for name, c := range map[string]struct {
		spoil func(i int, p *person)
		job   func(s []dataset.CSVColumn, f *train.Files)
		want  string // "" where nothing is wrong
	}{
		"right":                       {},
		"right, by day of the week":   {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"weekday"} }},
		"right, one row was mistyped": {spoil: every(1999, func(p *person) { p.city = "paris" })},
		"always missing":              {spoil: every(1, func(p *person) { p.amount = "" }), want: `no row has a value of field "amount"`},
		"always a text for missing":   {spoil: every(1, func(p *person) { p.age = "NA" }), want: `no row has a value of field "age"`},
		"constant":                    {spoil: every(1, func(p *person) { p.amount = "7" }), want: `all rows have one value of field "amount"`},
		"a feed that is constant":     {spoil: every(1, func(p *person) { p.city = "Rome" }), want: `all rows have one value of field "city"`},
		"an id of its own":            {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"id"} }, want: `nearly every row has an id of its own in field "id"`},
		"an id of its own, of many":   {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields, s[1].Hash = []string{"id"}, 1<<30 }, want: `nearly every row has an id of its own in field "id"`},
		"a number as id":              {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"amount"} }, want: `nearly every row has an id of its own in field "amount"`},
		"a date as id":                {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"date"} }, want: `the ids of field "date" are dates`},
		"an absurd number": {spoil: func(i int, p *person) {
			if i == 5 {
				p.age = "12345678901234567890"
			}
		}, want: `of field "age" of feed "numbers" (1.235e+19)`},
		"an absurd number, scaled": {spoil: func(i int, p *person) {
			if i == 5 {
				p.age = "-1e30"
			}
		},
			job: func(s []dataset.CSVColumn, _ *train.Files) {
				s[0].Scale = []dataset.Scaling{{Mean: 45, Std: 12}}
			}, want: `of field "age" of feed "numbers" (-8.333e+28)`},
		"-999":  {spoil: every(7, func(p *person) { p.amount = "-999" }), want: `the code of a missing one in field "amount" of feed "numbers" (-999 in 1`},
		"nines": {spoil: every(7, func(p *person) { p.amount = "99999999.0" }), want: `field "amount" of feed "numbers" (1e+08 in 1`},
		"-999, scaled": {spoil: every(7, func(p *person) { p.amount = "-999" }), job: func(s []dataset.CSVColumn, _ *train.Files) {
			s[0].Scale = []dataset.Scaling{{Mean: 45, Std: 17.3}, {Mean: 512.3, Std: 333.3}}
		}, want: `field "amount" of feed "numbers" (-999 in 1`},
		"nines, by logarithm": {spoil: every(7, func(p *person) { p.amount = "999999" }), job: func(s []dataset.CSVColumn, _ *train.Files) {
			s[0].Scale = []dataset.Scaling{{Mean: 45, Std: 17.3}, {Log1p: true, Mean: 6, Std: .8}}
		}, want: `field "amount" of feed "numbers" (999999 in 1`},
		"999 of ages": {spoil: every(7, func(p *person) { p.age = "999" }), want: `field "age" of feed "numbers" (999 in 1`},
		"case":        {spoil: every(3, func(p *person) { p.city = strings.ToUpper(p.city) }), want: `are other ids in field "city" ("`},
		"blanks":      {spoil: every(3, func(p *person) { p.city += " " }), want: `are other ids in field "city" ("`},
		"CSV alone: right, blanks that are trimmed": {spoil: every(3, func(p *person) { p.city += " " }), job: func(_ []dataset.CSVColumn, f *train.Files) {
			if format, is := f.Format.(dataset.CSV); is {
				format.Trim = true
				f.Format = format
			}
		}},
		"points": {spoil: func(i int, p *person) { p.city = []string{"1", "1.0", "2", "2.00", "3"}[i%5] }, want: `are other ids in field "city" ("`},
		"right, points of numbers": {spoil: func(i int, p *person) { p.city = []string{"1", "1.0", "2", "2.00", "3"}[i%5] },
			job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].HashNumbers = true }},
		"few ids for texts":     {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Hash = 3 }, want: `texts share ids with others, more than a third of them, in feed "names" of "city" (`},
		"right, a large hash":   {job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Hash = 50 }},
		"by date, latest first": {spoil: func(i int, p *person) { dated(1999-i, p) }, job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"weekday"} }, want: `rows come in the order of field "date", and test rows are random ones`},
		"by date": {spoil: dated, job: func(s []dataset.CSVColumn, _ *train.Files) { s[1].Fields = []string{"weekday"} },
			want: `rows come in the order of field "date", and test rows are random ones`},
		"right, by date, tested on the last": {spoil: dated, job: func(s []dataset.CSVColumn, f *train.Files) { s[1].Fields, f.Last = []string{"weekday"}, true }},
	} {
		if c.spoil == nil {
			c.spoil = func(int, *person) {}
		}
		kinds := []string{"CSV", "JSONLines"}
		if strings.HasPrefix(name, "CSV alone") {
			kinds = kinds[:1]
		}
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				report := lookAtPeople(t, kind, people(2000, c.spoil), c.job)
				if said := report.String(); c.want == "" && len(report.Findings) > 0 || c.want != "" && len(report.Findings) != 1 || !strings.Contains(said, c.want) {
					t.Errorf("wanted %q:\n%v", c.want, said)
				}
			})
		}
	}
}

// lookAtPeople checks a job of people, in a file of a format.
func lookAtPeople(t *testing.T, kind string, rows []person, spoil func(s []dataset.CSVColumn, f *train.Files)) *train.Report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows")
	schema := []dataset.CSVColumn{{Column: dataset.Floats("numbers", 2), Fields: []string{"age", "amount"}, Missing: "0"},
		{Column: dataset.Ints("names"), Fields: []string{"city"}, Hash: 1000}, {Column: dataset.Floats("y")}}
	derived := []dataset.Derived{{Name: "weekday", From: []string{"date"}, Part: dataset.Weekday, Layout: "2006-01-02"}}
	text, f := csvOf(rows), train.Files{Paths: []string{file}, Format: dataset.CSV{Schema: schema, Derived: derived, NA: "NA"}}
	if kind == "JSONLines" {
		text, f.Format = jsonOf(rows), dataset.JSONLines{Schema: schema, Derived: derived, NAs: []string{"NA"}}
	}
	if spoil != nil {
		spoil(schema, &f)
	}
	law.Check(t, os.WriteFile(file, []byte(text), 0o600))
	g := nn.NewGraph(1)
	x := nn.Concat(nn.BatchNorm(g.Input("numbers", 2), nn.NormOptions{}), nn.Embedding(g.IDs("names", schema[1].Width()), nn.EmbeddingOptions{Dim: 4}))
	chance := nn.Linear(nn.Linear(x, 16, nn.LinearOptions{Act: nn.ReLU}), 1, nn.LinearOptions{Act: nn.Sigmoid})
	loss := nn.BinaryCrossEntropy(chance, g.Input("y", 1))
	if kind == "amounts" || kind == "counts" {
		chance = nn.Linear(x, 1, nn.LinearOptions{})
		loss = nn.SquareError(chance, g.Node("y"))
	}
	j := train.Job{Loss: nn.Mean(loss), Outputs: []*nn.Node{chance}, Rule: optimizer.Adam{LR: 1e-3}, Files: f}
	if kind == "rows" { // which may be of anything
		j.Data = f.Load
	}
	report, err := train.Check(t.Context(), j)
	law.Check(t, err)
	return report
}

// TestCheckOfSharedIDs: -check says how many texts of all fields of a feed are hashed into an id that another has too, and finds them too many
// when they are more than a third.
func TestCheckOfSharedIDs(t *testing.T) {
	t.Parallel()
	for _, height := range []int64{400, 2000, 10_000_019} {
		for _, numbers := range []bool{false, true} {
			rows := people(2000, func(i int, p *person) { p.city, p.date = fmt.Sprint(i%200), fmt.Sprint("place ", i%150) })
			for i := range rows[:200] {
				rows[i].city += ".0"
			}
			report := lookAtPeople(t, "CSV", rows, func(s []dataset.CSVColumn, _ *train.Files) {
				s[1].Column, s[1].Fields, s[1].Hash, s[1].HashNumbers = dataset.Ints("names", 2), []string{"city", "date"}, height, numbers
			})
			ids, texts, shared := map[int64]map[string]bool{}, 0, 0
			for _, p := range rows {
				if numbers {
					p.city = strings.TrimSuffix(p.city, ".0")
				}
				for field, text := range map[string]string{"city": p.city, "date": p.date} {
					id := dataset.HashID(field, text, height)
					if ids[id] == nil {
						ids[id] = map[string]bool{}
					}
					ids[id][field+text] = true
				}
			}
			for _, of := range ids {
				if texts += len(of); len(of) > 1 {
					shared += len(of)
				}
			}
			f := report.Feeds[1]
			said := fmt.Sprintf("of the %d texts that are hashed into ids of \"names\" %d share one with others\n", texts, shared)
			if f.Texts != texts || f.Shared != shared || strings.Contains(report.String(), said) != (shared > 0) || shared == 0 != (height > 1e6) {
				t.Errorf("height %d, numbers %t: %d of %d share an id, want %d of %d:\n%v", height, numbers, f.Shared, f.Texts, shared, texts, report)
			}
			want := fmt.Sprintf("texts share ids with others, more than a third of them, in feed \"names\" of \"city\", \"date\" (%d of %d)", shared, texts)
			if numbers && strings.Contains(report.String(), want) != (3*shared > texts) { // else spelling is found first
				t.Errorf("height %d: no %q in\n%v", height, want, report)
			}
		}
	}
}

// TestCheckOfMissing: the table has the file's own share, whatever a Missing makes of it.
func TestCheckOfMissing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"CSV", "JSONLines"} {
		report := lookAtPeople(t, kind, people(2000, func(i int, p *person) {
			if i%8 == 0 {
				p.amount = "NA"
			}
			if i%4 == 0 {
				p.city = ""
			}
		}), nil)
		for _, f := range report.Feeds {
			if want := map[string]float64{"numbers": 0.0625, "names": 0.25}[f.Name]; f.Missing != want {
				t.Errorf("%s: %s: %v is missing, want %v", kind, f.Name, f.Missing, want)
			}
		}
		if len(report.Findings) > 0 {
			t.Error(report)
		}
	}
}

// TestCheckOfCopies: test rows that are copies of rows to train on are named, though each is in the file ten times, whatever the label is of;
// rows of few values are not, whose inputs come again.
func TestCheckOfCopies(t *testing.T) {
	t.Parallel()
	labels := map[string]func(i int, p *person){"two": func(int, *person) {}, "amounts": func(i int, p *person) { p.y = fmt.Sprint(float64(i*7919%100_003) / 1e5) },
		"counts": func(i int, p *person) { p.y = fmt.Sprint(i * i % 5) }}
	for name, label := range labels {
		rows := people(2000, label)
		alike := people(4000, func(i int, p *person) { p.age, p.amount = fmt.Sprint(i%7), fmt.Sprint(i%11); label(i, p) })
		for want, of := range map[string][]person{"of the test rows are rows to train on": slices.Repeat(rows, 10), "nothing to look at": alike} {
			if said := lookAtPeople(t, name, of, nil).String(); !strings.Contains(said, want) {
				t.Errorf("%s: wanted %q:\n%v", name, want, said)
			}
		}
	}
}

// TestCheckOfFieldsInRows: where only rows are known, a field that is always missing has the value for it in all of them.
func TestCheckOfFieldsInRows(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(i int, p *person){
		`all rows have one value of field "amount" of feed "numbers"`: func(_ int, p *person) { p.amount = "" },
		"nothing to look at": func(i int, p *person) {
			if p.amount = "7"; i == 1999 {
				p.amount = ""
			}
		},
	} {
		report := lookAtPeople(t, "rows", people(2000, spoil), func(_ []dataset.CSVColumn, f *train.Files) { f.HeldOut = -1 })
		if said := report.String(); !strings.Contains(said, want) || len(report.Findings) > 1 {
			t.Errorf("wanted %q:\n%v", want, said)
		}
	}
}
