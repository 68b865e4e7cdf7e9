package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// goldenMetrics is metrics.json: four metrics of 4000 scores, and accuracies of 100 rows of logits. It names the generator's calls
// that gave the inputs: "u(1700, n, 0, 1)".
type goldenMetrics struct {
	N                 int
	Score, Label      string
	Positives         int
	AUC4095           float64 `json:"auc_4095"`
	AUC200            float64 `json:"auc_200"`
	Precision, Recall float64
	Accuracy          struct {
		Logits, Label string
		Top1, Top2    float64
	}
}

// seedOf is the first number in a call of the generator.
func seedOf(t *testing.T, call string) (seed uint32) {
	t.Helper()
	_, args, _ := strings.Cut(call, "(")
	if _, err := fmt.Sscanf(args, "%d,", &seed); err != nil {
		t.Fatalf("%q is no call of the generator: %v", call, err)
	}
	return seed
}

func TestGoldenMetrics(t *testing.T) {
	var file goldenMetrics
	readGolden(t, "metrics.json", &file)
	t.Run("binary", file.checkBinary)
	t.Run("accuracy", file.checkAccuracy)
}

// checkBinary feeds the scores in batches of a quarter, so that the metrics have to count over batches.
func (m goldenMetrics) checkBinary(t *testing.T) {
	score, chance := uniform(seedOf(t, m.Score), m.N, 0, 1), uniform(seedOf(t, m.Label), m.N, 0, 1)
	label, positives := make([]float32, m.N), 0
	for i, s := range score {
		if chance[i] < float32(math.Pow(float64(s), 1.5)) {
			label[i] = 1
			positives++
		}
	}
	if positives != m.Positives {
		t.Errorf("%d labels are positive, want %d", positives, m.Positives)
	}
	g := NewGraph(1)
	p, y := g.Input("score", 1), g.Input("label", 1)
	metrics := []*Node{AUCOf(p, y, 4095), AUCOf(p, y, 200), Precision(p, y), Recall(p, y)}
	e, part, got := NewExecutor(g), m.N/4, make([]float32, len(metrics))
	for at := 0; at+part <= m.N; at += part {
		out, err := e.Eval(t.Context(), batchOf{
			"score": floats([]int{part, 1}, score[at:at+part]...), "label": floats([]int{part, 1}, label[at:at+part]...)},
			metrics...)
		law.Check(t, err)
		for i := range got {
			got[i] = out[i].Float32s()[0]
		}
	}
	want := []float32{float32(m.AUC4095), float32(m.AUC200), float32(m.Precision), float32(m.Recall)}
	if err := near(got, want, 0, 1e-6); err != nil {
		t.Errorf("AUC, AUC of 200 thresholds, precision and recall are %v, want %v: %v", got, want, err)
	}
}

func (m goldenMetrics) checkAccuracy(t *testing.T) {
	g := NewGraph(1)
	logits, class := g.Input("logits", 4), g.IDs("class", 1)
	out, err := NewExecutor(g).Eval(t.Context(), batchOf{
		"logits": floats([]int{100, 4}, uniform(seedOf(t, m.Accuracy.Logits), 400, -1, 1)...),
		"class":  int64sOf([]int{100, 1}, integers(seedOf(t, m.Accuracy.Label), 100, 4)...)},
		Accuracy(logits, class), TopK(logits, class, 2))
	law.Check(t, err)
	got := []float32{out[0].Float32s()[0], out[1].Float32s()[0]}
	if err := near(got, []float32{float32(m.Accuracy.Top1), float32(m.Accuracy.Top2)}, 0, 1e-6); err != nil {
		t.Error(err)
	}
}
