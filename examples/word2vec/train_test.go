package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// TestWordsOfATopicAreNear trains alone and in every mode on 2 servers and 2 workers.
func TestWordsOfATopicAreNear(t *testing.T) {
	law.Slow(t)
	check := func(name string, servers, workers int, args ...string) {
		t.Run(name, func(t *testing.T) {
			share, out := trained(t, servers, workers, append(args, "-sentences=5000", "-epochs=4", "-dim=16", "-out=")...)
			if share < 0.9 || !strings.Contains(out, "nearest to ") {
				t.Errorf("%.4f of the words are nearest to one of their topic; worker 0 said\n%s", share, out)
			}
		})
	}
	for _, k := range law.Some(t, jobtest.InEachMode(nil, []string{"-batch=256"})) {
		check(k.Name, k.Servers, k.Workers, k.Args...)
	}
}

func trained(t *testing.T, servers, workers int, args ...string) (share float64, said string) {
	t.Helper()
	_, said = jobtest.Run(t, servers, workers, program, args...)
	for _, line := range strings.Split(said, "\n") {
		if before, _, found := strings.Cut(line, " of "); found && share == 0 {
			share, _ = strconv.ParseFloat(before, 64)
		}
	}
	return share, said
}

// TestText trains on a file, and saves.
func TestText(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "text")
	text := strings.Repeat("one two three four\nfive six seven eight\n", 60)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said := trained(t, 1, 1, "-data="+file, "-out="+dir+"/out", "-batch=8"); !strings.Contains(said, "saved ") || strings.Count(said, "nearest to ") != 5 {
		t.Errorf("worker 0 said %q", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "model", "graph.json")); err != nil {
		t.Error(err)
	}
	vectors, err := os.ReadFile(filepath.Join(dir, "out", "words.bin"))
	if err != nil {
		t.Fatal(err)
	}
	words, err := weights.Word2Vec{}.ReadWords(bytes.NewReader(vectors))
	if slices.Sort(words); err != nil || strings.Join(words, " ") != "eight five four one seven six three two" {
		t.Errorf("words.bin has %q: %v", words, err)
	}
	if _, err := jobtest.Job(program, "-data="+dir+"/none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-dim=0"}, {"-sentences=0"}, {"-mode=often"}, {"-epochs=0"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

// TestNear finds the nearest by looking at all.
func TestNear(t *testing.T) {
	n := &neighbours{words: []string{"a", "b", "c", "d"}}
	for _, v := range [][]float32{{1, 0}, {2, 1}, {0, 3}, {-1, 0}} {
		n.unit = append(n.unit, unit(v))
	}
	for word, want := range []string{"b, c", "a, c", "b, a", "c, b"} {
		if got := n.list(n.near(word, 2)); got != want {
			t.Errorf("nearest to %s: %s, want %s", n.words[word], got, want)
		}
	}
	if got := n.near(0, 9); len(got) != 3 {
		t.Errorf("of four words %d are near", len(got))
	}
}
