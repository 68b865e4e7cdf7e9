package nn

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// kindOf is how an op says what it is called.
var kindOf = regexp.MustCompile(`(?m)^func \(\w* ?\*?\w+\) kind\(\) +string +\{ return "(\w+)" \}$`)

// examinedElsewhere are ops whose gradient is compared otherwise: dropout's changes with every step (TestDropout).
var examinedElsewhere = []string{"dropout"}

// TestEveryOpIsExamined: every op of the package can be saved, and has its gradient compared with finite differences unless it is a
// metric, which has none. A new op fails until its line and its row are there.
//
// Promise: [G2] the gradient of every op is its formula's, by finite differences; of ops of any shape at six batch
// sizes and dimensions from 1 to 37
// Also: TestOpsSitTheExam
func TestEveryOpIsExamined(t *testing.T) {
	kinds, compared := kindsOfPackage(t), kindsCompared(t)
	if len(kinds) < 50 {
		t.Fatalf("only %d ops found: the test does not see the package", len(kinds))
	}
	for _, kind := range kinds {
		made, ok := recipes[kind]
		if !ok {
			t.Errorf("%s: a graph with it can't be loaded: give recipes of registry.go a line", kind)
			continue
		}
		o, err := made.make(attributesOf(kind))
		law.Check(t, err)
		if _, counts := o.(metric); !counts && !compared[kind] && !isFeed(&Node{op: o}) && !slices.Contains(examinedElsewhere, kind) {
			t.Errorf("%s: nothing compares its gradient with finite differences: give gradientCases a row", kind)
		}
	}
	for kind := range recipes {
		if !slices.Contains(kinds, kind) {
			t.Errorf("recipes has %s, which no op is called", kind)
		}
	}
}

func kindsOfPackage(t *testing.T) (kinds []string) {
	files, err := filepath.Glob("*.go")
	law.Check(t, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		law.Check(t, err)
		for _, m := range kindOf.FindAllStringSubmatch(string(src), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				kinds = append(kinds, m[1])
			}
		}
	}
	for _, t := range []formulas{functions, differences, labelFormulas} {
		kinds = slices.AppendSeq(kinds, maps.Keys(t))
	}
	kinds = slices.AppendSeq(kinds, maps.Keys(meanErrors))
	return slices.AppendSeq(kinds, maps.Keys(shares))
}

// kindsCompared are the ops in the graphs of gradientCases.
func kindsCompared(t *testing.T) map[string]bool {
	kinds := map[string]bool{}
	for _, c := range gradientCases {
		g := NewGraph(1)
		nodes := make([]*Node, len(c.args))
		for i, a := range c.args {
			nodes[i] = a.node(g, batchOf{}, "in"+string(rune('0'+i)), a.draw(1))
		}
		c.build(nodes)
		law.Check(t, g.Err())
		for _, n := range g.nodes {
			kinds[n.op.kind()] = true
		}
	}
	return kinds
}

// attributesOf are those without which a kind of op can't be made.
func attributesOf(kind string) json.RawMessage {
	if kind == "custom" {
		return json.RawMessage(`{"name": "nn.cubes", "attrs": {}}`)
	}
	return nil
}
