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
	return "apply " + strings.Trim(fmt.Sprint(apply), "[]")
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
