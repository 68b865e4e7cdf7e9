package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// pretending is a lab whose machine counts as it is told, for rows with sides of a test's own.
func pretending(stat string) *lab {
	return &lab{peers: map[string]peer{}, stat: func() ([]byte, error) { return []byte(stat), nil }}
}

// still is /proc/stat of a machine on which nobody computes.
const still = "cpu  100 0 50 90000 7 0 3 0 0 0\n"

// returning is a side that has a figure of its own in each round.
func returning(name string, values ...float64) side {
	return side{name: name, run: func(_ context.Context, _ *lab, round int) (figures, error) {
		return figures{"examples/s": values[round], "AUC": values[round] / 1000}, nil
	}}
}

// TestARow: sides take turns, quotients are of one round, and verdicts are given on a still machine alone.
func TestARow(t *testing.T) {
	var order []string
	slow, fast := returning("peer", 100, 300, 200), returning(gofleet, 300, 600, 800)
	for _, s := range []*side{&fast, &slow} {
		do, name := s.run, s.name
		s.run = func(ctx context.Context, l *lab, round int) (figures, error) {
			order = append(order, fmt.Sprint(name, round))
			return do(ctx, l, round)
		}
	}
	r := row{name: "x", sides: []side{fast, slow, {name: "absent", peer: "ps-lite", run: slow.run}}, compare: []comparison{
		{figure: "examples/s", with: "peer", least: 3}, {figure: "examples/s", with: "peer", least: 2, wide: 3.5},
		{figure: "AUC", with: "peer", minus: true, least: 0.4}, {figure: "examples/s", with: "absent", least: 1},
		{figure: "examples/s", with: "absent"}, {figure: "examples/s", of: "peer", with: gofleet, most: 0.4}}}
	const blind = unjudged + "the system did not say what others used"
	for _, c := range []struct {
		stat string
		wide []string
		want []string
	}{
		{still, nil, []string{met, met, missed, notMeasured, notMeasured, met}},
		{still, []string{"avx512f"}, []string{met, missed, missed, notMeasured, notMeasured, met}},
		{"no count", nil, []string{blind, blind, blind, notMeasured, notMeasured, blind}},
	} {
		m := machine{Rounds: 3, Cores: 2, Features: c.wide}
		order = nil
		res := r.do(t.Context(), pretending(c.stat), &m, io.Discard)
		var got []string
		for _, c := range res.Compared {
			got = append(got, c.Verdict)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, %v: verdicts %q, want %q", c.stat, c.wide, got, c.want)
		}
		if d := res.Compared[0]; d.Ratio != (spread{3, 3, 2, 4}) || d.Ours != (spread{3, 600, 300, 800}) {
			t.Errorf("quotients %+v of %+v", d.Ratio, d.Ours)
		}
		if want := "gofleet0 peer0 gofleet1 peer1 gofleet2 peer2"; strings.Join(order, " ") != want {
			t.Errorf("sides ran as %v, want %s", order, want)
		}
		if s := find(res.Sides, "absent"); !strings.Contains(s.Missing, "-pslite") || len(s.Figures) > 0 {
			t.Errorf("the absent side has %+v", s)
		}
	}
}

// TestNoVerdict: figures of a machine that others used, before a row or during it, or of too few rounds, are printed and not judged.
func TestNoVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		before float64
		busy   float64 // what others use of a row, in seconds for each second
		rounds int
		want   string // its beginning
	}{
		{"still", 0, 0, 3, met},
		{"used before", 0.2, 0, 3, "no verdict: others used 20 %"},
		{"used meanwhile", 0, 1000, 3, "no verdict: others used "},
		{"few rounds", 0, 0, 2, "no verdict: less than 3 rounds"},
	} {
		began := time.Now()
		l := pretending("")
		l.stat = func() ([]byte, error) {
			return fmt.Appendf(nil, "cpu  %.0f 0 0 9 0 0 0 0 0 0\n", c.busy*time.Since(began).Seconds()*100), nil
		}
		m := machine{Rounds: c.rounds, Cores: 2, Others: c.before}
		wait := func(context.Context, *lab, int) (figures, error) {
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			}
			return figures{"examples/s": 2}, nil
		}
		r := row{sides: []side{ours(wait)}, compare: []comparison{{figure: "examples/s", least: 1}}}
		d := r.do(t.Context(), l, &m, io.Discard).Compared[0]
		if !strings.HasPrefix(d.Verdict, c.want) || d.Ratio.Median != 2 {
			t.Errorf("%s: %q of %v", c.name, d.Verdict, d.Ratio)
		}
	}
}

// TestAFailedSide: it has no figures and no later rounds, and the command ends with its error.
func TestAFailedSide(t *testing.T) {
	runs := 0
	lost := side{name: "peer", run: func(context.Context, *lab, int) (figures, error) {
		if runs++; runs == 2 {
			return nil, errors.New("pushes were lost")
		}
		return figures{"examples/s": 1}, nil
	}}
	m := machine{Rounds: 3, Cores: 2}
	r := row{name: "x", sides: []side{returning(gofleet, 1, 2, 3), lost}, compare: []comparison{{figure: "examples/s", with: "peer", least: 1}}}
	all := results{Rows: []result{r.do(t.Context(), pretending(still), &m, io.Discard)}}
	if err := all.err(); err == nil || !strings.Contains(err.Error(), "x, peer: pushes were lost") || runs != 2 {
		t.Errorf("after %d runs: %v", runs, err)
	}
	if d := all.Rows[0].Compared[0]; d.Verdict != notMeasured {
		t.Errorf("verdict %q", d.Verdict)
	}
}

// TestBestOfTwo: a side may be compared with the better of two in each round, or with the one that is here.
func TestBestOfTwo(t *testing.T) {
	r := row{sides: []side{returning(gofleet, 4, 4), returning("a", 1, 4), returning("b", 2, 2), {name: "c", peer: "ps-lite"}},
		compare: []comparison{vs("examples/s", "a,b"), vs("examples/s", "a,c"), vs("examples/s", "c,b")}}
	for i, want := range []spread{{2, 1.5, 1, 2}, {2, 2.5, 1, 4}, {2, 2, 2, 2}} {
		if got := r.do(t.Context(), pretending(still), &machine{Rounds: 2, Cores: 1}, io.Discard).Compared[i].Ratio; got != want {
			t.Errorf("%s: %v, want %v", r.compare[i].with, got, want)
		}
	}
}

// TestFiguresOfAnother: a side that measures two gives the other its own.
func TestFiguresOfAnother(t *testing.T) {
	both := ours(func(context.Context, *lab, int) (figures, error) { return figures{"us": 3, "bare fasthttp|us": 2}, nil })
	r := row{sides: []side{both, {name: "bare fasthttp"}}, compare: []comparison{{figure: "us", with: "bare fasthttp"}}}
	res := r.do(t.Context(), pretending(still), &machine{Rounds: 1, Cores: 1}, io.Discard)
	if got := res.Compared[0].Ratio.Median; got != 1.5 {
		t.Errorf("the quotient is %v, want 1.5", got)
	}
}

// TestBuildingIsNoFigure: what a side builds first is not its processor time, nor its memory; the work's is.
func TestBuildingIsNoFigure(t *testing.T) {
	const work = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
	l := pretending(still)
	l.built = map[string]string{}
	s := side{name: gofleet, run: func(ctx context.Context, l *lab, round int) (f figures, err error) {
		if _, err = l.program(ctx, "x", "sh", "-c", work); err == nil && round > 0 {
			_, err = l.run(ctx, "", nil, "sh", "-c", work)
		}
		return figures{}, err
	}}
	res := row{sides: []side{s}}.do(t.Context(), l, &machine{Rounds: 2, Cores: 1}, io.Discard)
	f := res.Sides[0].Figures
	if cpu, peak := f["CPU s"], f["peak MB"]; len(cpu) != 2 || cpu[0] != 0 || cpu[1] <= 0 || peak[0] != 0 || l.spent <= 0 {
		t.Errorf("the processor's seconds are %v, the memory %v, after %v of building: %s", cpu, peak, l.spent, res.Sides[0].Failed)
	}
}

// TestOthers: time of this program's processes is not that of others, and neither is that of interrupts.
func TestOthers(t *testing.T) {
	stats := []string{"cpu  100 0 50 90000 7 0 3 0 0 0\n", "cpu  400 0 150 91000 7 500 900 100 0 0\n"}
	m := startMeter(func() ([]byte, error) { s := stats[0]; stats = stats[1:]; return []byte(s), nil }, time.Second)
	m.began = m.began.Add(-10 * time.Second)
	if got := m.others(3*time.Second, 2); math.Abs(got-0.15) > 0.01 { // 5 s more, 2 of them own, of 20 s
		t.Errorf("others had %v of the cores, want 0.15", got)
	}
	if quiet(0.15) || !quiet(0.01) || quiet(-1) {
		t.Error("a machine of which others have 15 % is quiet, or one of which they have 1 % is not")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{{nil, "–"}, {[]float64{3, 1, 2}, "2.00(1.00–3.00)"}, {[]float64{40123, 30000}, "35,062(30,000–40,123)"},
		{[]float64{1234567.5}, "1,234,568"}, {[]float64{-0.0123}, "−0.0123"}, {[]float64{250.4}, "250"}, {[]float64{33.33}, "33.3"}} {
		if got := spreadOf(c.values).String(); got != c.want {
			t.Errorf("%v is %q, want %q", c.values, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	out := "goos: linux\nBenchmarkGemm/avx2/dW-2x3-2   \t 12\t  99 ns/op\t 51.5 GFLOP/s\nBenchmarkX-2 1 7 pull-p50-us\nPASS\n"
	want := map[string]figures{"Gemm/avx2/dW-2x3": {"ns/op": 99, "GFLOP/s": 51.5}, "X": {"pull-p50-us": 7}}
	if got := benchmarks(out); !reflect.DeepEqual(got, want) {
		t.Errorf("benchmarks %v, want %v", got, want)
	}
	if f, err := benchmarkOf("Y")(out); err == nil {
		t.Errorf("a benchmark that did not run has %v", f)
	}
	f, err := trained("epoch 1/1  worker 0  20 examples in 1.4s  14,095 examples/s  loss 1\nepoch 1/1: 28,157 examples/s of 2 workers\n" +
		"epoch 1/1: train loss 0.5382, test AUC 0.6610\n")
	if err != nil || f["examples/s"] != 28157 || f["AUC"] != 0.661 {
		t.Errorf("a job's figures are %v, %v", f, err)
	}
	if _, err := trained("exit"); err == nil {
		t.Error("a job that has not trained has a rate")
	}
	if f, err := object("a log\n{\"examples/s\": 5.5}\nanother\n"); err != nil || f["examples/s"] != 5.5 {
		t.Errorf("a peer's figures are %v, %v", f, err)
	}
	if _, err := object("Traceback\n"); err == nil {
		t.Error("a peer that has failed has figures")
	}
	f, err = twins("    twin.go:69: epoch 1: AUC of likes 0.87 ± 0.0009 (0.8697–0.8740), PyTorch's 0.86 ± 0.0009 (0.8697–0.8741)\n" +
		"    twin.go:86: examples a second on 1 cores, the best pass: 267670, PyTorch's 69388: 3.86 times as many\n")
	if want := (figures{"value": 0.87, "PyTorch|value": 0.86, "examples/s": 267670, "PyTorch|examples/s": 69388}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("the twins' figures are %v, %v", f, err)
	}
	f, err = traffic([]string{`{"Pulls":[1000,3000],"Pushes":[2000,2000],"Took":8000}`, "log\n{\"Pulls\":[5000,7000]}\n{\"Pushes\":[9000,9000]}\n{\"Took\":9000}\n"})
	if err != nil || f["step-us"] != 4.5 || f["pull-p50-us"] != 5 || f["push-p99-us"] != 9 {
		t.Errorf("the traffic's figures are %v, %v", f, err)
	}
}

// TestClicks: rows are Criteo's, and alike from one run to the next.
func TestClicks(t *testing.T) {
	var rows [2]strings.Builder
	for i := range rows {
		w, r := bufio.NewWriter(&rows[i]), rand.New(rand.NewPCG(1, 1))
		for range 1000 {
			writeClick(w, r)
		}
		w.Flush()
	}
	clicks, counts := 0, 0
	for line := range strings.Lines(rows[0].String()) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 40 || len(f[39]) != 8 {
			t.Fatalf("a row is %q", line)
		}
		if f[0] == "1" {
			clicks++
		}
		for _, c := range f[1:14] {
			if c != "" {
				counts++
			}
		}
	}
	if rows[0].String() != rows[1].String() || clicks < 150 || clicks > 300 || counts < 9000 || counts > 11000 {
		t.Errorf("%d clicks and %d counts in 1000 rows, alike: %v", clicks, counts, rows[0].String() == rows[1].String())
	}
}

// published are the tables of the results that are kept, which the pages show; none if there are no results.
func published() map[string]bool {
	r, err := readResults(filepath.Join("../..", kept))
	if err != nil {
		return nil
	}
	all := map[string]bool{}
	for _, row := range r.Rows {
		all[row.Table] = true
	}
	return all
}

// TestRows: names are once there and in doc.go, sides of comparisons exist, and every table that was measured is on a page.
func TestRows(t *testing.T) {
	text, published := "", published()
	for _, page := range pages {
		part := read(t, filepath.Join("../..", page))
		if text += part; (published != nil) != strings.Contains(part, "<!-- bench machine -->") {
			t.Errorf("%s does not name the machine of its tables, or has tables and no results", page)
		}
	}
	names, doc := map[string]bool{}, read(t, "doc.go")
	for _, r := range rows() {
		if kind, _, many := strings.Cut(r.name, "/"); !strings.Contains(doc, map[bool]string{true: kind + "/*", false: kind}[many]) {
			t.Errorf("doc.go does not describe %s", r.name)
		}
		if names[r.name] || published[r.table] != strings.Contains(text, "<!-- bench "+r.table+" -->") {
			t.Errorf("%s: it is there twice, or table %q is on no page", r.name, r.table)
		}
		names[r.name] = true
		for _, c := range r.compare {
			for _, name := range append(strings.Split(c.with, ","), c.of) {
				has := slices.ContainsFunc(r.sides, func(s side) bool { return s.name == name })
				if name != "" && !has || c.of == "" && r.sides[0].name != gofleet {
					t.Errorf("%s compares %+v, and has no such side", r.name, c)
				}
			}
		}
	}
}

// TestPages: tables and the picture show the results that are kept, and nothing else. Where none are, there is neither.
func TestPages(t *testing.T) {
	r, err := readResults(filepath.Join("../..", kept))
	picture, none := os.ReadFile(filepath.Join("../..", keptPicture))
	if errors.Is(err, fs.ErrNotExist) {
		for _, page := range pages {
			if strings.Contains(read(t, filepath.Join("../..", page)), "<!-- bench ") || none == nil {
				t.Errorf("%s has tables, or there is a picture, of results that are not kept", page)
			}
		}
		return
	}
	if err = errors.Join(err, none); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if old := read(t, filepath.Join("../..", page)); r.fill(old) != old {
			t.Errorf("%s shows other figures than %s: go run ./internal/bench -pages %s", page, kept, kept)
		}
	}
	if r.picture() != string(picture) {
		t.Errorf("the picture is not of %s: go run ./internal/bench -pages %s", kept, kept)
	}
}

// TestShown: what is printed of results names the machine, its load, and each verdict.
func TestShown(t *testing.T) {
	m := machine{CPU: "Chip", Cores: 2, Commit: "abc", Rounds: 3, Others: 0.3, Peers: map[string]string{"PyTorch": "2.6"}}
	r := row{name: "x/y", table: "training", work: "a net", sides: []side{returning(gofleet, 10, 20, 40), returning("peer", 5, 5, 5)},
		compare: []comparison{{figure: "examples/s", with: "peer", least: 5}, {figure: "examples/s", with: "ps-lite", least: 2}}}
	all := results{Machine: m}
	all.Rows = append(all.Rows, r.do(t.Context(), pretending(still), &m, io.Discard))
	var text strings.Builder
	all.text(&text)
	loud := all.fill("<!-- bench training -->\n<!-- end -->")
	if picture := all.picture(); strings.Contains(picture, "peer") {
		t.Errorf("a picture of what others disturbed: %s", picture)
	}
	all.Rows, m.Others = nil, 0.01
	all.Rows = append(all.Rows, r.do(t.Context(), pretending(still), &m, io.Discard))
	page := all.fill("# a\n<!-- bench machine -->\n<!-- end -->\n<!-- bench training -->\nold\n<!-- end -->\nb\n<!-- bench messages -->\n<!-- end -->\n")
	for where, c := range map[string][]string{
		text.String(): {"2 cores of Chip", "commit abc", "PyTorch 2.6", "before, others used 30 %",
			"| x/y | examples/s÷ps-lite | 20.0 | – | – | ≥2 open: not measured here |"},
		loud: {"| x/y | examples/s÷peer | – | – | – | ≥5 open: disturbed |"},
		page: {"# a\n<!-- bench machine -->\n2 cores of Chip", "| x/y | examples/s÷peer | 20.0 | 5.00 | 4.00(2.00–8.00) | ≥5 missed |",
			"<!-- end -->\nb\n<!-- bench messages -->\nIt was not measured here.\n<!-- end -->"},
		all.picture(): {"x/y, examples/s÷peer", "4×", "abc"},
	} {
		for _, part := range c {
			if !strings.Contains(where, part) {
				t.Errorf("%q is not in %s", part, where)
			}
		}
	}
	if strings.Contains(page, "old") || all.fill(page) != page {
		t.Errorf("a page that is filled twice is\n%s", all.fill(page))
	}
}

// TestRerun: rows of a later run replace those of an earlier one, on the same machine and commit alone.
func TestRerun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	m := machine{CPU: "Chip", Commit: "abc", Peers: map[string]string{}}
	first := results{Machine: m, Rows: []result{{Name: "a", Others: 0.5}, {Name: "b"}}}
	again := results{Machine: m, Rows: []result{{Name: "a", Others: 0.01}, {Name: "c"}}}
	law.Check(t, errors.Join(first.save(file), again.save(file)))
	r, err := readResults(file)
	if err != nil || len(r.Rows) != 3 || r.Rows[0].Others != 0.01 {
		t.Errorf("%+v, %v", r, err)
	}
	again.Machine.Commit = "abd"
	if err := again.save(file); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("rows of two commits in a file: %v", err)
	}
}

// TestQuoted: a program's own table is the row's; one that prints none has failed.
func TestQuoted(t *testing.T) {
	saying := func(out string) result {
		r := row{name: "q", table: "q", quote: func(context.Context, *lab) (string, error) { return out, nil }}
		return r.do(t.Context(), pretending(still), &machine{Rounds: 3, Cores: 2}, io.Discard)
	}
	all := results{Rows: []result{saying("=== RUN\n    | a | b |\n    |---|---|\n  | 1 | 2 |\nPASS\n")}}
	if got, want := all.table("q"), "| a | b |\n|---|---|\n| 1 | 2 |\n"; got != want || all.err() != nil {
		t.Errorf("%q, %v; want %q", got, all.err(), want)
	}
	if all = (results{Rows: []result{saying("trees: skipped")}}); all.err() == nil {
		t.Error("a program without a table has not failed")
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-n=0"}, {"-rows=("}, {"-rows=nothing here"}, {"x"}, {"-pages=absent.json"}} {
		if err := command(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	var out strings.Builder
	if err := command(t.Context(), []string{"-list", "-torch=absent", "-paddle=absent"}, &out); err != nil ||
		!strings.Contains(out.String(), "start/cold") || !strings.Contains(out.String(), "imports no torch") {
		t.Errorf("-list prints %s, %v", out.String(), err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	law.Check(t, err)
	return string(text)
}
