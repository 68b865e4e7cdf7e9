// Package script runs scripts of state machines in tests: text files in which a line is a message to the machine, in
// words, and after "->" the answer that it must give. Empty lines and lines that begin with # are comments.
package script

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

// Line is one line of a script: the words of a message, and the expected answer.
type Line struct {
	Words       []string
	Want        string
	where, text string
}

// Play runs every file of testdata that matches a pattern as a test of its own.
func Play(t *testing.T, pattern string, play func(t *testing.T, lines iter.Seq[Line])) {
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, filepath.Ext(name)), func(t *testing.T) { play(t, linesOf(t, file)) })
	}
}

// linesOf returns the lines of a script, without comments and empty lines.
func linesOf(t *testing.T, file string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		texts := bufio.NewScanner(f)
		for n := 1; texts.Scan(); n++ {
			told, want, _ := strings.Cut(texts.Text(), " -> ")
			l := Line{strings.Fields(told), want, fmt.Sprintf("%s:%d", file, n), told}
			if len(l.Words) > 0 && l.Words[0] != "#" && !yield(l) {
				return
			}
		}
		if err := texts.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// String returns the place of the line, and its text.
func (l Line) String() string { return l.where + ": " + l.text }

// Check fails the test if the answer is not the expected one.
func (l Line) Check(t *testing.T, got string) {
	t.Helper()
	if got != l.Want {
		t.Fatalf("%v: got %q, want %q", l, got, l.Want)
	}
}

// Unknown fails the test because of a line that is no command.
func (l Line) Unknown(t *testing.T) {
	t.Helper()
	t.Fatalf("%v: no such command", l)
}

// Number parses a word that is a whole number.
func Number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
