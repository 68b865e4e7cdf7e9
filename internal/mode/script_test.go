package mode

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// line is one of a script: what a half of a mode is told, in words, and what it must say to that, after "->".
type line struct {
	where, text, want string
	words             []string
}

// scripts plays every file of testdata that a pattern names.
func scripts(t *testing.T, pattern string, play func(t *testing.T, lines iter.Seq[line])) {
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, filepath.Ext(name)), func(t *testing.T) { play(t, linesOf(t, file)) })
	}
}

// linesOf are the lines of a script, without comments and empty ones.
func linesOf(t *testing.T, file string) iter.Seq[line] {
	return func(yield func(line) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		texts := bufio.NewScanner(f)
		for n := 1; texts.Scan(); n++ {
			told, want, _ := strings.Cut(texts.Text(), " -> ")
			l := line{fmt.Sprintf("%s:%d", file, n), told, want, strings.Fields(told)}
			if len(l.words) > 0 && l.words[0] != "#" && !yield(l) {
				return
			}
		}
		if err := texts.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// check holds what was said to what is wanted.
func (l line) check(t *testing.T, got string) {
	t.Helper()
	if got != l.want {
		t.Fatalf("%s: %s: got %q, want %q", l.where, l.text, got, l.want)
	}
}

// unknown says that a script has a line that nobody understands.
func (l line) unknown(t *testing.T) {
	t.Helper()
	t.Fatalf("%s: %q is no command", l.where, l.text)
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func float(t *testing.T, s string) float32 {
	v, err := strconv.ParseFloat(s, 32)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

func round(t *testing.T, s string) Round {
	var p, i uint32
	if _, err := fmt.Sscanf(s, "%d.%d", &p, &i); err != nil {
		t.Fatalf("round %q: %v", s, err)
	}
	return At(p, i)
}
