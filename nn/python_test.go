package nn

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// goldenRows are rows as the Python of SERVING.md makes them, by initializer and id, of a table of three columns called "täble" under
// seed 2⁶³+5.
var goldenRows = map[string]map[uint64][3]float32{
	"constant": {0: {0.1, 0.1, 0.1}, 7: {0.1, 0.1, 0.1}, 1<<62 - 1: {0.1, 0.1, 0.1}},
	"uniform": {0: {0.020644918, 0.07705316, 0.05567042}, 7: {0.12342914, -0.092611074, 0.15521659},
		1<<62 - 1: {0.26608315, -0.02655428, 0.07793767}},
	"uniform by default": {0: {-0.39677542, -0.11473424, -0.2216479}, 7: {0.11714567, -0.9630554, 0.2760829},
		1<<62 - 1: {0.8304157, -0.63277143, -0.11031166}},
	"normal": {0: {0.46213716, 0.6364005, -0.19527443}, 7: {1.081077, 0.6732297, 0.5042588}, 1<<62 - 1: {0.9699956, 0.4990309, 1.0149567}},
	"truncated": {0: {-0.024701998, -0.006884451, -0.013417032}, 7: {0.0070300926, -0.08731354, 0.016825989},
		1<<62 - 1: {0.06304174, -0.04243755, -0.0066174944}},
}

// TestPythonKnowsInitialRows: rows that were never trained are what the Python of SERVING.md says. Where there is a python3, it is asked
// again.
//
// Promise: [G6] rows that no file has are reproducible outside
func TestPythonKnowsInitialRows(t *testing.T) {
	law.Slow(t)
	inits := map[string]optimizer.Initializer{
		"constant": optimizer.Constant{Value: 0.1}, "uniform": optimizer.Uniform{Low: -0.1, High: 0.3}, "uniform by default": optimizer.Uniform{},
		"normal": optimizer.Normal{Mean: 0.7, Std: 0.3}, "truncated": optimizer.TruncatedNormal{Std: 0.05},
	}
	for name, init := range inits {
		g := NewGraph(1<<63 + 5)
		table := Embedding(g.IDs("ids"), EmbeddingOptions{Name: "täble", Height: 1 << 62, Dim: 3, Init: init})
		var graph bytes.Buffer
		law.Check(t, Inference(table).WriteGraph(&graph))
		p := Inference(table).Params()[0]
		asked := askPython(t, graph.Bytes(), []uint64{0, 7, 1<<62 - 1})
		for id, want := range goldenRows[name] {
			var w [3]float32
			p.InitRow(w[:], id)
			for i := range w {
				if math.Abs(float64(w[i]-want[i])) > 1e-7*math.Abs(float64(want[i])) {
					t.Errorf("%s: row %d is %v, Python has %v", name, id, w, want)
				}
			}
			if asked != nil && asked[id] != want {
				t.Errorf("%s: row %d is %v in Python, was %v", name, id, asked[id], want)
			}
		}
		if len(goldenRows[name]) != 3 {
			t.Errorf("%s: no golden rows", name)
		}
	}
}

// askPython has the Python of SERVING.md make rows; nil where there is none.
func askPython(t *testing.T, graph []byte, ids []uint64) map[uint64][3]float32 {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	page, err := os.ReadFile("../SERVING.md")
	law.Check(t, err)
	_, program, _ := strings.Cut(string(page), "```python\n")
	program, _, found := strings.Cut(program, "```\n")
	if !found {
		t.Fatal("SERVING.md has no Python")
	}
	lines := []string{program, "import sys", "graph = json.load(open(sys.argv[1]))",
		`print(json.dumps({id: initial_row(graph, "täble", id) for id in json.loads(sys.argv[2])}))`}
	file := filepath.Join(t.TempDir(), "graph.json")
	law.Check(t, os.WriteFile(file, graph, 0o600))
	list, err := json.Marshal(ids)
	law.Check(t, err)
	out, err := exec.Command(python, "-X", "utf8", "-c", strings.Join(lines, "\n"), file, string(list)).Output()
	if err != nil {
		t.Fatalf("python3: %v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var rows map[uint64][3]float32
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return rows
}
