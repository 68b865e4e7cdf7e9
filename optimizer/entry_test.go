package optimizer

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestEntryCheck(t *testing.T) {
	tests := []struct {
		entry Entry
		says  string // "" is right
	}{
		{Entry{}, ""},
		{Entry{CountFilter: 1}, ""},
		{Entry{CountFilter: 1000}, ""},
		{Entry{Probability: 0.5}, ""},
		{Entry{Probability: 1}, ""},
		{Entry{ShowClick: ShowClick{Threshold: 10}}, ""},
		{Entry{ShowClick: ShowClick{Threshold: 10, ShowCoeff: 0.2, ClickCoeff: 3}}, ""},
		{Entry{CountFilter: -1}, "CountFilter is -1"},
		{Entry{CountFilter: math.MaxInt32 + 1}, "CountFilter is 2147483648"},
		{Entry{Probability: -0.1}, "Probability is -0.1"},
		{Entry{Probability: 1.5}, "Probability is 1.5"},
		{Entry{Probability: math.NaN()}, "Probability is NaN"},
		{Entry{ShowClick: ShowClick{ShowCoeff: 1}}, "ShowClick.Threshold is 0"},
		{Entry{ShowClick: ShowClick{Threshold: math.Inf(1)}}, "ShowClick.Threshold is +Inf"},
		{Entry{ShowClick: ShowClick{Threshold: 1, ShowCoeff: -1}}, "ShowClick.ShowCoeff is -1"},
		{Entry{ShowClick: ShowClick{Threshold: 1, ClickCoeff: math.Inf(1)}}, "ShowClick.ClickCoeff is +Inf"},
		{Entry{CountFilter: 2, Probability: 0.5}, "2 policies"},
		{Entry{CountFilter: 2, ShowClick: ShowClick{Threshold: 1}}, "2 policies"},
	}
	for _, tt := range tests {
		p := Param{Name: "e", Shape: []int{0, 2}, Embedding: true, Entry: tt.entry}
		switch err := p.Check(); {
		case tt.says == "" && err != nil:
			t.Errorf("%+v: %v", tt.entry, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), `"e"`)):
			t.Errorf("%+v: error %v, want one that says %q and names the param", tt.entry, err, tt.says)
		}
	}
}

func TestEntryIsForEmbeddings(t *testing.T) {
	for _, p := range []Param{{Entry: Entry{CountFilter: 2}}, {MaxBytes: 1 << 20}} {
		p.Name, p.Shape, p.W, p.G = "w", []int{1}, make([]float32, 1), make([]float32, 1)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "for embeddings") {
			t.Errorf("%+v: error %v", p, err)
		}
	}
	p := Param{Name: "e", Shape: []int{0, 2}, Embedding: true, MaxBytes: -1}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "MaxBytes is -1") {
		t.Errorf("error %v", err)
	}
	p = Param{Name: "e", Shape: []int{0, 2}, Embedding: true, Frozen: true, Entry: Entry{CountFilter: 2}}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), `"e" is frozen`) {
		t.Errorf("error %v", err)
	}
}

func TestEntryIsJSON(t *testing.T) {
	for entry, text := range map[Entry]string{
		{}:                  `{}`,
		{CountFilter: 3}:    `{"count_filter":3}`,
		{Probability: 0.25}: `{"probability":0.25}`,
		{ShowClick: ShowClick{Threshold: 10, ClickCoeff: 2}}: `{"show_click":{"threshold":10,"click_coeff":2}}`,
	} {
		got, err := json.Marshal(entry)
		if err != nil || string(got) != text {
			t.Errorf("%+v is %s (%v), want %s", entry, got, err, text)
		}
		var back Entry
		if err := json.Unmarshal(got, &back); err != nil || back != entry {
			t.Errorf("%s came back as %+v (%v)", got, back, err)
		}
	}
}

func TestScore(t *testing.T) {
	tests := []struct {
		rating      ShowClick
		show, click float32
		want        float64
	}{
		{ShowClick{}, 10, 0, 1},   // 0.1·10
		{ShowClick{}, 10, 4, 4.6}, // 0.1·6 + 4
		{ShowClick{ShowCoeff: 0.5, ClickCoeff: 2}, 10, 4, 11},
	}
	for _, tt := range tests {
		if got := tt.rating.Score(tt.show, tt.click); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%+v: score(%v, %v) = %v, want %v", tt.rating, tt.show, tt.click, got, tt.want)
		}
	}
}

// The share of ids that are let in is the probability; other params and seeds draw other ids; an id's lot never changes.
func TestDrawn(t *testing.T) {
	const n = 20_000
	for _, p := range []float64{0.01, 0.3, 0.9, 1} {
		a := &Param{Name: "a", Seed: 1, Entry: Entry{Probability: p}}
		others := []*Param{{Name: "b", Seed: 1, Entry: a.Entry}, {Name: "a", Seed: 2, Entry: a.Entry}}
		in, both := 0, make([]int, len(others))
		for id := range uint64(n) {
			if !a.Drawn(id) {
				continue
			}
			in++
			for i, o := range others {
				if o.Drawn(id) {
					both[i]++
				}
			}
		}
		near := func(what string, got int, want float64) {
			if math.Abs(float64(got)-n*want) > 5*math.Sqrt(n*want*(1-want)) {
				t.Errorf("probability %v: %s %d of %d, want about %v", p, what, got, n, n*want)
			}
		}
		near("drawn", in, p)
		for i := range others {
			near(fmt.Sprint("drawn by both, other ", i), both[i], p*p)
		}
	}
}

// A smaller share is part of a larger one, so that raising the probability takes no row away.
func TestDrawnGrows(t *testing.T) {
	small, large := &Param{Name: "a", Entry: Entry{Probability: 0.2}}, &Param{Name: "a", Entry: Entry{Probability: 0.4}}
	for id := range uint64(5000) {
		if small.Drawn(id) && !large.Drawn(id) {
			t.Fatalf("id %d is drawn at 0.2 and not at 0.4", id)
		}
	}
}
