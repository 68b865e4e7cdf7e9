package mode

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestScripts runs every script of testdata: a line is a message to a server's half, "->" what it must answer.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s Server
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, want, _ := strings.Cut(lines.Text(), " -> ")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "workers":
			s = NewSync(number(t, words[1]))
		case "async":
			s = new(Async)
		case "ssp":
			s = NewSSP(number(t, words[1]), number(t, words[2]))
		default:
			if got := play(t, s, words); !strings.Contains(got, want) || want == "" && got != "" {
				t.Fatalf("%s:%d: %s: got %q, want %q", file, n, line, got, want)
			}
		}
	}
}

// play gives one message to the half and returns its answer in the script's words.
func play(t *testing.T, s Server, words []string) string {
	var apply []int
	var err error
	switch words[0] {
	case "push":
		apply, err = s.Push(number(t, words[1]), round(t, words[2]))
	case "park":
		apply, err = s.Park(number(t, words[1]), round(t, words[2]))
	case "leave":
		apply = s.Leave(number(t, words[1]), false)
	case "forget":
		apply = s.Leave(number(t, words[1]), true)
	case "open":
		return unless(s.Open() == round(t, words[1]), s.Open())
	case "missing":
		return unless(fmt.Sprint(s.Missing()) == "["+strings.Join(words[1:], " ")+"]", s.Missing())
	case "reached":
		return unless(s.Reached(round(t, words[1])) == (words[2] == "yes"), s.Open())
	default:
		t.Fatalf("unknown message %q", words[0])
	}
	if err != nil {
		return err.Error()
	}
	if len(apply) == 0 {
		return ""
	}
	answer := "apply " + strings.Trim(fmt.Sprint(apply), "[]")
	s.Applied(apply)
	return answer
}

// TestReachedWaitsForTheTables: a round that has closed is not reached before its update is in the tables.
func TestReachedWaitsForTheTables(t *testing.T) {
	for name, s := range map[string]Server{"sync": NewSync(1), "ssp": NewSSP(1, 0)} {
		apply, err := s.Push(0, At(0, 0))
		if err != nil || len(apply) != 1 || s.Reached(At(0, 1)) {
			t.Errorf("%s: %v, %v, reached %t before the update", name, apply, err, s.Reached(At(0, 1)))
		}
		if s.Applied(apply); !s.Reached(At(0, 1)) {
			t.Errorf("%s: not reached after the update", name)
		}
	}
	s := NewSync(2) // the phase turns while an update is on its way
	s.Push(0, At(0, 0))
	apply, _ := s.Push(1, At(0, 0))
	apply = append([]int(nil), apply...)
	s.Leave(0, true)
	s.Leave(1, true)
	if s.Reached(At(0, 1)) {
		t.Error("reached while the update is on its way")
	}
	if s.Applied(apply); !s.Reached(At(1, 0)) {
		t.Error("not reached after the update")
	}
}

func unless(ok bool, got any) string {
	if ok {
		return ""
	}
	return fmt.Sprint("it is ", got)
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func round(t *testing.T, s string) Round {
	var p, i uint32
	if _, err := fmt.Sscanf(s, "%d.%d", &p, &i); err != nil {
		t.Fatalf("round %q: %v", s, err)
	}
	return At(p, i)
}

func TestWorkerHalfCountsRounds(t *testing.T) {
	var w Worker
	w.Pushed()
	w.Pushed()
	if w.Round() != At(0, 2) {
		t.Errorf("after two pushes: %v", w.Round())
	}
	w.Parked()
	if w.Round() != At(1, 0) {
		t.Errorf("after parking: %v", w.Round())
	}
}
