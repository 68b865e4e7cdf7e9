package starter

import (
	"fmt"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// drawn is 1 with a chance that the logistic function has of x.
func drawn(r *rand.Rand, x float64) int {
	if r.Float64() < 1/(1+math.Exp(-x)) {
		return 1
	}
	return 0
}

// effect is a number around 0 that each tuple of values has.
func effect(of ...int) float64 {
	seed := uint64(0)
	for _, v := range of {
		seed = 1000*seed + uint64(v) + 1
	}
	return rand.New(rand.NewPCG(seed, 7)).NormFloat64()
}

var madeCross = regexp.MustCompile(`\{Name: "[^"]* × [^"]*", From: \[\]string\{"(.*)", "(.*)"\}\}`)

// crossesOf are the crosses that the program of a file makes, each by its fields in the order of the alphabet.
func crossesOf(t *testing.T, data string) (crosses []string, text string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	p, err := Write(dir, data, "", "y", nil)
	if err != nil {
		t.Fatal(err)
	}
	main, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	if tidy, err := format.Source(main); err != nil || string(tidy) != string(main) {
		t.Errorf("not formatted, %v:\n%s", err, main)
	}
	for _, m := range madeCross.FindAllStringSubmatch(string(main), -1) {
		pair := m[1:]
		slices.Sort(pair)
		crosses = append(crosses, strings.Join(pair, " × "))
	}
	if p.Crosses != len(crosses) {
		t.Errorf("%d crosses are told of, %d made", p.Crosses, len(crosses))
	}
	return crosses, string(main)
}

// TestCrosses: a cross is made of two fields that tell of the label together what neither tells alone, and of no others.
func TestCrosses(t *testing.T) {
	law.Slow(t)
	strongly := func(a, b int) float64 { return 2 * effect(a, b) }
	for name, c := range law.SomeOf(t, map[string]struct {
		label func(r *rand.Rand, a, b, c, d int) string
		want  string
	}{
		"two together": {func(r *rand.Rand, a, b, _, _ int) string { return fmt.Sprint(drawn(r, strongly(a, b))) }, "a × b"},
		"each alone": {func(r *rand.Rand, a, b, c, _ int) string {
			return fmt.Sprint(drawn(r, effect(a)+effect(b, b)+effect(c, c, c)))
		}, ""},
		"nothing": {func(r *rand.Rand, a, b, _, _ int) string { return fmt.Sprint(r.IntN(2)) }, ""},
		"two pairs": {func(r *rand.Rand, a, b, c, d int) string {
			return fmt.Sprint(drawn(r, strongly(a, b)+1.5*effect(c, d, 1)))
		}, "a × b, c × d"},
		"texts":   {func(r *rand.Rand, a, b, _, _ int) string { return []string{"no", "yes"}[drawn(r, strongly(a, b))] }, "a × b"},
		"classes": {func(r *rand.Rand, _, b, c, _ int) string { return fmt.Sprint(2*drawn(r, strongly(b, c)) + r.IntN(2)) }, "b × c"},
		"amounts": {func(r *rand.Rand, a, _, c, _ int) string {
			return fmt.Sprint(1000 + 200*(effect(a, c)+r.NormFloat64()))
		}, "a × c"},
		"amounts that fields give finely": {func(r *rand.Rand, a, b, _, _ int) string {
			return fmt.Sprint(effect(a) + effect(b, b) + 0.3*effect(a, b))
		}, ""},
		"amounts of some rows": {func(r *rand.Rand, a, _, c, _ int) string { // few are far from the others
			return fmt.Sprint(10 + math.Exp(3*r.NormFloat64()))
		}, ""},
	}) {
		row := func(form string) func(i int, r *rand.Rand) string {
			return func(i int, r *rand.Rand) string {
				v := [4]int{r.IntN(20), r.IntN(20), r.IntN(20), r.IntN(20)}
				return fmt.Sprintf(form, v[0], v[1], v[2], v[3], r.Float64(), c.label(r, v[0], v[1], v[2], v[3]))
			}
		}
		for _, data := range []string{
			write(t, "rows.csv", "a,b,c,d,x,y\n", 6000, row("a%d,b%d,c%d,d%d,%v,%s")),
			write(t, "rows.jsonl", "", 6000, row(`{"a": "a%d", "b": "b%d", "c": "c%d", "d": "d%d", "x": %v, "y": "%s"}`)),
		} {
			crosses, text := crossesOf(t, data)
			if slices.Sort(crosses); strings.Join(crosses, ", ") != c.want {
				t.Errorf("%s: crosses are %q, want %s", name, crosses, c.want)
			}
			if ids := fmt.Sprintf(`g.IDs("categories", %d)`, 4+len(crosses)); !strings.Contains(text, ids) ||
				strings.Contains(text, "What two fields") != (len(crosses) > 0) {
				t.Errorf("%s: no %s, or no word of what crosses are, in\n%s", name, ids, text)
			}
		}
	}
}

// TestCrossesOf: parts of times and whole numbers that recur are crossed too; values that hardly come again are not, nor in files of few rows;
// of many fields there is a bounded number of crosses.
func TestCrossesOf(t *testing.T) {
	law.Slow(t)
	for name, c := range law.SomeOf(t, map[string]struct {
		header string
		rows   int
		row    func(i int, r *rand.Rand) string
		want   int // -1: as many as there may be
		some   string
	}{
		"dates": {"at,shop,y\n", 8000, func(i int, r *rand.Rand) string {
			day, shop := 1+r.IntN(28), r.IntN(20)
			return fmt.Sprintf("2024-%02d-%02d,s%d,%d", 1+r.IntN(12), day, shop, drawn(r, 2*effect(day, shop)))
		}, 0, ""}, // the day of the month is no part
		"hours": {"at,shop,y\n", 8000, func(i int, r *rand.Rand) string {
			hour, shop := r.IntN(24), r.IntN(20)
			return fmt.Sprintf("2024-03-01 %02d:00,s%d,%d", hour, shop, drawn(r, 2*effect(hour, shop)))
		}, 1, "at hour × shop"},
		"numbers that recur": {"item,shop,y\n", 8000, func(i int, r *rand.Rand) string {
			item, shop := r.IntN(60), r.IntN(20)
			return fmt.Sprintf("%d,s%d,%d", item, shop, drawn(r, 2*effect(item, shop)))
		}, 1, "item × shop"},
		"a value of some rows is missing": {"a,b,y\n", 8000, func(i int, r *rand.Rand) string {
			a, b := r.IntN(20), r.IntN(20)
			return fmt.Sprintf("%s,%s,%d", []string{fmt.Sprint("a", a), "NA"}[b/(a+19)], []string{fmt.Sprint("b", b), ""}[a/19], drawn(r, 2*effect(a, b)))
		}, 1, "a × b"},
		"few rows": {"a,b,y\n", 300, func(i int, r *rand.Rand) string {
			a, b := r.IntN(10), r.IntN(10)
			return fmt.Sprintf("a%d,b%d,%d", a, b, drawn(r, 2*effect(a, b)))
		}, 0, ""},
		"values hardly come again": {"user,item,y\n", 8000, func(i int, r *rand.Rand) string {
			a, b := r.IntN(300), r.IntN(30)
			return fmt.Sprintf("u%d,i%d,%d", a, b, drawn(r, 4*effect(a, b)))
		}, 0, ""},
		"numbers": {"x,z,y\n", 8000, func(i int, r *rand.Rand) string {
			x, z := r.Float64(), r.Float64()
			return fmt.Sprintf("%v,%v,%d", x, z, drawn(r, 20*(x-0.5)*(z-0.5)))
		}, 1, "x bucket × z bucket"},
		"many pairs": {"a,b,c,d,e,f,y\n", 8000, func(i int, r *rand.Rand) string {
			v, x := make([]int, 6), 0.0
			for i := range v {
				v[i] = r.IntN(5)
				for k := range i {
					x += effect(i, k, v[i], v[k])
				}
			}
			return fmt.Sprintf("a%d,b%d,c%d,d%d,e%d,f%d,%d", v[0], v[1], v[2], v[3], v[4], v[5], drawn(r, x))
		}, mostCrosses, ""},
		"many fields": {"f" + manyNames(1500) + ",y\n", 2000, func(i int, r *rand.Rand) string {
			a, b := r.IntN(4), r.IntN(4)
			rest := make([]string, 1499)
			for i := range rest {
				rest[i] = string(rune('a' + r.IntN(4)))
			}
			return fmt.Sprintf("a%d,b%d,%s,%d", a, b, strings.Join(rest, ","), drawn(r, effect(a)+effect(b)+3*effect(a, b)))
		}, -1, ""},
	}) {
		crosses, _ := crossesOf(t, write(t, "rows.csv", c.header, c.rows, c.row))
		if len(crosses) > mostCrosses || c.want >= 0 && len(crosses) != c.want || c.some != "" && !slices.Contains(crosses, c.some) {
			t.Errorf("%s: crosses are %q, want %d of them with %q", name, crosses, c.want, c.some)
		}
	}
}

func manyNames(n int) string {
	var names strings.Builder
	for i := range n {
		fmt.Fprintf(&names, ",f%d", i)
	}
	return names.String()
}

// TestMeasure: what values tell is the mean product of two rows' labels over all pairs of rows with the same value, and what they have been
// made to explain is gone from the labels.
func TestMeasure(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 10, 300} {
		a, b := &column{field: &field{}, copies: 2, places: map[string]int32{}}, &column{field: &field{}, places: map[string]int32{}}
		var left []float64
		for range n {
			a.add(fmt.Sprint(r.IntN(7)))
			b.add(fmt.Sprint(r.IntN(40) % 11))
			left = append(left, effect(int(a.cells[len(a.cells)-1]))+r.NormFloat64())
		}
		for _, c := range []*column{a, cross(a, b)} {
			products, pairs := 0.0, 0.0
			for i := range n {
				for k := range n {
					if k != i && c.cells[i] == c.cells[k] {
						products += left[i] * left[k]
						pairs++
					}
				}
			}
			want, s := products/max(pairs, 1), c.measure(left)
			if math.Abs(s.share-max(want, 0)) > 1e-6 || math.Abs(s.sure-want/variance(left)*math.Sqrt(pairs/2)) > 1e-6 {
				t.Errorf("%d rows: %+v, want a share of %v, of %v pairs", n, s, want, pairs)
			}
			if s.gain > s.share {
				t.Errorf("more is gained than there is: %+v", s)
			}
		}
		if n == 300 {
			a.explain(left)
			if s := a.measure(left); s.share > 0.05 {
				t.Errorf("%+v is left of what was explained", s)
			}
		}
		both := cross(a, b)
		if huge := cross(a, &column{cells: b.cells, n: 1000 * n}); huge.cells != nil || huge.measure(left) != (signal{}) {
			t.Errorf("a cross of values that hardly come again: %+v", huge)
		}
		for i := range n {
			for k := range n {
				if same := a.cells[i] == a.cells[k] && b.cells[i] == b.cells[k]; same != (both.cells[i] == both.cells[k]) {
					t.Fatalf("rows %d and %d: %v", i, k, same)
				}
			}
		}
	}
}
