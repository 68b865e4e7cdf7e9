package mode

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// geoWorker is a worker's copy of one weight.
type geoWorker struct{ latest, unsent []float32 }

// TestGeoScript plays testdata/geo.script: workers train one weight and exchange it, one after another.
func TestGeoScript(t *testing.T) {
	f, err := os.Open("testdata/geo.script")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var server []float32
	var workers []geoWorker
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, want, _ := strings.Cut(lines.Text(), " -> ")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "workers":
			server = []float32{float(t, words[2])}
			workers = make([]geoWorker, number(t, words[1]))
			for i := range workers {
				workers[i] = geoWorker{slices.Clone(server), []float32{0}}
			}
		case "train": // gradient descent of rate 1: the gradient is what to go down
			w := &workers[number(t, words[1])]
			GeoRule{optimizer.SGD{LR: 1}}.Update(w.latest, []float32{-float(t, words[2])}, w.unsent, &optimizer.State{Step: 1})
		case "exchange", "drain":
			w, share := &workers[number(t, words[1])], len(workers)
			if words[0] == "drain" {
				share = 1
			}
			delta := []float32{0}
			Take(delta, w.unsent, share)
			Sum{}.Update(server, delta, nil, nil)
			Receive(w.latest, w.unsent, server)
			got := []float32{delta[0], server[0], w.latest[0], w.latest[0] - w.unsent[0]}
			for i, word := range strings.Fields(want) {
				if math.Abs(float64(got[i]-float(t, word))) > 1e-6 {
					t.Fatalf("line %d: %s: sent, server, latest, old are %v, want %s", n, line, got, want)
				}
			}
		default:
			t.Fatalf("line %d: %q", n, line)
		}
	}
}

func float(t *testing.T, s string) float32 {
	v, err := strconv.ParseFloat(s, 32)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

// TestRecorder asks, repeats and overtakes.
func TestRecorder(t *testing.T) {
	r := NewRecorder(2)
	r.Note(0, []uint64{5, 3, 9})
	r.Note(0, []uint64{3})
	r.Note(1, []uint64{1})
	ask := func(step uint64, table, most int, want string) {
		t.Helper()
		ids, more := r.Ask(step, table, most)
		if got := fmt.Sprint(ids, more); got != want {
			t.Errorf("request %d for table %d got %s, want %s", step, table, got, want)
		}
	}
	first, more := r.Ask(1, 0, 2)
	if len(first) != 2 || !more {
		t.Errorf("two of three rows: %v, %t", first, more)
	}
	r.Note(0, first[:1]) // changes again meanwhile
	again, _ := r.Ask(1, 0, 2)
	if !slices.Equal(first, again) {
		t.Errorf("a repeated request got %v, the first %v", again, first)
	}
	ask(1, 1, 9, "[1] false")
	rest, more := r.Ask(2, 0, 9)
	if len(rest) != 2 || more || !slices.Contains(rest, first[0]) {
		t.Errorf("the rest is %v, %t; %d changed meanwhile", rest, more, first[0])
	}
	ask(1, 0, 9, "[] false") // came late
	ask(2, 1, 9, "[] false")
	ask(3, 0, 9, "[] false")
	ask(3, 1, 9, "[] false")
}
