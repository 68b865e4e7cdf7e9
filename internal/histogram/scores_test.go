package histogram

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// row is a score as a test draws it.
type row struct {
	group    int64
	p        float32
	positive bool
	weight   float64
}

func drawRows(t *rapid.T) []row {
	p := rapid.OneOf(rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1e-45, 0.5, 1 - 0x1p-24, 1}), rapid.Float32Range(0, 1))
	weights := rapid.SampledFrom([]*rapid.Generator[float64]{rapid.Just(1.0), rapid.SampledFrom([]float64{0.25, 1, 3})}).Draw(t, "weights")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
		return row{rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 7, 8, math.MaxInt64}).Draw(t, "group"), p.Draw(t, "p"),
			rapid.Bool().Draw(t, "positive"), weights.Draw(t, "weight")}
	}), 0, 60).Draw(t, "rows")
}

// pairs is the AUC by its definition: of each pair of a positive and a negative label, which has the higher score.
func pairs(rows []row) (area float64, known bool) {
	all := 0.0
	for _, a := range rows {
		for _, b := range rows {
			if !a.positive || b.positive {
				continue
			}
			w := a.weight * b.weight
			all += w
			switch {
			case a.p > b.p:
				area += w
			case a.p == b.p:
				area += w / 2
			}
		}
	}
	return area / all, all > 0
}

// precision is the average precision by its definition: at each positive label, the share of positive ones among the scores that are
// no lower.
func precision(rows []row) (mean float64, known bool) {
	all := 0.0
	for _, a := range rows {
		if !a.positive {
			continue
		}
		tp, above := 0.0, 0.0
		for _, b := range rows {
			if b.p >= a.p {
				above += b.weight
				if b.positive {
					tp += b.weight
				}
			}
		}
		mean, all = mean+a.weight*tp/above, all+a.weight
	}
	return mean / all, all > 0
}

func scoresOf(rows []row, most int, sampled bool) *Scores {
	s := &Scores{Most: most, Sampled: sampled}
	for i, r := range rows {
		if s.Add(r.group, r.p, r.positive, r.weight); i%7 == 3 {
			s.AUC() // sorts
		}
	}
	return s
}

func near(t *rapid.T, what string, got float64, known bool, want float64, wanted bool) {
	if known != wanted || known && math.Abs(got-want) > 1e-12 {
		t.Fatalf("%s is %v (%t), want %v (%t)", what, got, known, want, wanted)
	}
}

// TestScoresByDefinition: AUC, average precision and the AUCs of groups are what their definitions say.
func TestScoresByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		s := scoresOf(rows, 1000, true)
		one := slices.Clone(rows)
		for i := range one {
			one[i].group = 0
		}
		want, is := pairs(one)
		got, known := scoresOf(one, 1000, false).AUC()
		near(t, "AUC", got, known, want, is)
		want, is = precision(one)
		got, known = scoresOf(one, 1000, false).PRAUC()
		near(t, "PRAUC", got, known, want, is)

		by := map[int64][]row{}
		for _, r := range rows {
			by[r.group] = append(by[r.group], r)
		}
		var mean, weighted, weights float64
		groups := 0
		for _, its := range by {
			area, known := pairs(its)
			if !known {
				continue
			}
			w := 0.0
			for _, r := range its {
				w += r.weight
			}
			groups++
			mean, weighted, weights = mean+area, weighted+w*area, weights+w
		}
		g := s.Groups()
		if g.Groups != groups || g.LeftOut != len(by)-groups {
			t.Fatalf("%d groups, %d left out; want %d of %d", g.Groups, g.LeftOut, groups, len(by))
		}
		near(t, "mean of groups", g.Mean, g.Mean == g.Mean, mean/float64(groups), groups > 0)
		near(t, "weighted mean of groups", g.Weighted, g.Weighted == g.Weighted, weighted/weights, groups > 0)
	})
}

// TestScoresOfAnySplit: however rows are divided and in whatever order they come, what is joined is the same, also of a sample.
func TestScoresOfAnySplit(t *testing.T) {
	smaller := 0
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		for i := range rows { // of more groups, so that a sample has some
			rows[i].group += int64(i % 5 * 1000)
		}
		most, sampled := rapid.IntRange(0, 70).Draw(t, "most"), rapid.Bool().Draw(t, "sampled")
		whole := scoresOf(rows, most, sampled)
		if whole.halved > 0 {
			smaller++
		}
		shuffled := slices.Clone(rows)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Shuffle(len(rows), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		joined := &Scores{Most: most, Sampled: sampled}
		for len(shuffled) > 0 {
			n := rapid.IntRange(1, len(shuffled)).Draw(t, "part")
			if err := joined.Join(scoresOf(shuffled[:n], most, sampled).Bytes()); err != nil {
				t.Fatal(err)
			}
			shuffled = shuffled[n:]
		}
		if !bytes.Equal(joined.Bytes(), whole.Bytes()) || joined.dropped != whole.dropped {
			t.Fatalf("joined %v, want %v", joined, whole)
		}
		if len(joined.rows) > most {
			t.Fatalf("%d scores are kept, more than %d", len(joined.rows), most)
		}
	})
	if smaller == 0 {
		t.Error("nothing was sampled")
	}
}

// TestSampleOfGroups: a sample has whole groups, and about as many as it says.
func TestSampleOfGroups(t *testing.T) {
	s := &Scores{Most: 10_000, Sampled: true}
	for i := range 100_000 {
		s.Add(int64(i/4), float32(i%97)/97, i%2 == 0, 1)
	}
	g, want := s.Groups(), 25_000*s.Sample()
	if s.Sample() != 0.0625 || math.Abs(float64(g.Groups)-want) > 150 || len(s.rows) != 4*g.Groups {
		t.Errorf("%d groups and %d scores of a sample of %v; want about %v groups of four", g.Groups, len(s.rows), s.Sample(), want)
	}
}

// TestOneGroupOfTooMany: a group that does not fit is never cut.
func TestOneGroupOfTooMany(t *testing.T) {
	for group := range int64(100) {
		s := &Scores{Most: 10, Sampled: true}
		for i := range 11 {
			s.Add(group, 0.5, i%2 == 0, 1)
		}
		if g := s.Groups(); g.Groups != 0 || !math.IsNaN(g.Mean) || !math.IsNaN(g.Weighted) {
			t.Errorf("group %d of 11 scores, where 10 fit, is %+v", group, g)
		}
	}
}

// TestScoresCutOff: what is cut off is refused or is a whole number of scores.
func TestScoresCutOff(t *testing.T) {
	whole := scoresOf([]row{{7, 0.5, true, 1}, {1 << 40, 0.25, false, 2}}, 10, true).Bytes()
	refused := 0
	for n := range len(whole) {
		if (&Scores{Most: 10}).Join(whole[:n]) != nil {
			refused++
		}
	}
	if want := len(whole) - 2; refused != want {
		t.Errorf("%d of %d pieces are refused, want %d: but for none and one score", refused, len(whole), want)
	}
}

func FuzzJoin(f *testing.F) {
	f.Add(scoresOf([]row{{7, 0.5, true, 1}, {1 << 40, 0.25, false, 2}}, 10, true).Bytes())
	f.Add([]byte{200, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Scores{Most: 100, Sampled: true}
		if err := s.Join(b); err == nil && len(s.rows) > 100 {
			t.Errorf("%d scores", len(s.rows))
		}
		s.Groups()
	})
}
