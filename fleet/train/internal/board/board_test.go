package board

import (
	"encoding/hex"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// TestGolden: what is written are the bytes that TensorBoard's own RecordWriter and protobuf's Python write of the same.
func TestGolden(t *testing.T) {
	g := nn.NewGraph(1)
	node := nn.ReLU(g.Input("x", 4)).Named("fc_0")
	var scalar, histogram Summary
	scalar.Scalar("loss", 1.5)
	scalar.Scalar("nothing", math.NaN())
	histogram.Histogram("h", HistogramOf([]float32{3, 3, float32(math.Inf(1))}))
	histogram.Histogram("nothing", HistogramOf(nil))
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"record":    {frame([]byte("gofleet")), "0700000000000000bbd79f11676f666c656574ce5a96a7"},
		"scalar":    {scalar.values, "0a0b0a046c6f7373150000c03f"},
		"histogram": {histogram.values, "0a560a01682a510900000000000008401100000000000008401900000000000000402100000000000018402900000000000032403210000000000000084001000000000008403a1000000000000000400000000000000000"},
		"node":      {nodeDef(node), "0a0466635f30120472656c751a01782a270a0e5f6f75747075745f73686170657312150a133a11120b08ffffffffffffffffff0112020804"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestHistogram: each number is in the bucket whose edges it lies between.
func TestHistogram(t *testing.T) {
	h := HistogramOf([]float32{0, 0.05, 0.1, 1.5, 3, 3})
	want := [buckets]float64{0: 2, 1: 1, 15: 1, 29: 2}
	if h.counts != want || h.least != 0 || h.most != 3 || h.count != 6 || math.Abs(h.sum-7.65) > 1e-6 {
		t.Errorf("%+v", h)
	}
}

// TestNames: a file's name comes behind those of all that are there, also of one from the future.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"events.out.tfevents.4000000000.elsewhere.1", "x", "events.out.tfevents.x"} {
		law.Check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for range 3 {
		w, err := NewWriter(dir, 0)
		law.Check(t, err)
		w.Close()
	}
	found, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	var seconds []string
	for _, name := range found {
		seconds = append(seconds, strings.Split(filepath.Base(name), ".")[3])
	}
	if got := strings.Join(seconds, " "); got != "4000000000 4000000001 4000000002 4000000003 x" {
		t.Errorf("%s", got)
	}
}

// TestProjectorLabels: labels are a column beside ids, whatever characters they have, and what fails is told.
func TestProjectorLabels(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("a server is gone")
	rows := func(end error) iter.Seq2[weights.Row, error] {
		return func(yield func(weights.Row, error) bool) {
			for id := range uint64(5) {
				if !yield(weights.Row{ID: id, W: []float32{float32(id), -0.5}}, nil) {
					return
				}
			}
			if end != nil {
				yield(weights.Row{}, end)
			}
		}
	}
	err := Project(dir, []Table{{Name: `a"b`, Rows: rows(broken), Most: 2, Label: func(id uint64) string { return "x\ty\n" }}, {Name: "all", Rows: rows(nil), Most: 9}})
	law.Check(t, err)
	for name, want := range map[string]string{
		"embedding_0.tsv": "0\t-0.5\n1\t-0.5\n", "embedding_0.metadata.tsv": "id\tlabel\n0\tx y \n1\tx y \n",
		"embedding_1.metadata.tsv": "0\n1\n2\n3\n4\n",
		"projector_config.pbtxt": "embeddings {\n  tensor_name: \"a\\\"b\"\n  tensor_path: \"embedding_0.tsv\"\n  metadata_path: \"embedding_0.metadata.tsv\"\n}\n" +
			"embeddings {\n  tensor_name: \"all\"\n  tensor_path: \"embedding_1.tsv\"\n  metadata_path: \"embedding_1.metadata.tsv\"\n}\n",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: error %v\n%s", name, err, text)
		}
	}
	if err := Project(dir, []Table{{Name: "a", Rows: rows(broken), Most: 9}}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
