package train_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// fields are a message's, by number: varints and fixed numbers as they are, the bytes of what has a length.
type fields map[int][]field

type field struct {
	number uint64
	bytes  []byte
}

// decoded reads a message by the documentation of Protocol Buffers.
func decoded(t *testing.T, b []byte) fields {
	t.Helper()
	all := fields{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		var f field
		switch tag & 7 {
		case 0:
			f.number, n = binary.Uvarint(b)
			b = b[n:]
		case 1:
			f.number, b = binary.LittleEndian.Uint64(b), b[8:]
		case 5:
			f.number, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		case 2:
			size, n := binary.Uvarint(b)
			f.bytes, b = b[n:n+int(size)], b[n+int(size):]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
		all[int(tag>>3)] = append(all[int(tag>>3)], f)
	}
	return all
}

func (f fields) text(number int) string { return string(f[number][0].bytes) }

// shown is what a run has: values by tag and step, histograms as count, sum and the counts of their buckets, nodes of its last graph.
type shown struct {
	scalars    map[string]map[int64]float64
	histograms map[string]map[int64][]float64
	nodes      map[string][]string // with their inputs
	starts     []int64
	twice      []string // steps that came again
}

// readRun reads a run as TensorBoard does: files in the order of names, and where a session starts what is behind its step is left out.
func readRun(t *testing.T, dir string) *shown {
	t.Helper()
	s := &shown{scalars: map[string]map[int64]float64{}, histograms: map[string]map[int64][]float64{}}
	names, _ := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	slices.Sort(names)
	table := crc32.MakeTable(crc32.Castagnoli)
	sound := func(b []byte, sum []byte) {
		crc := crc32.Checksum(b, table)
		if masked := (crc>>15 | crc<<17) + 0xa282ead8; masked != binary.LittleEndian.Uint32(sum) {
			t.Fatalf("%s: the checksum of %d bytes is wrong", dir, len(b))
		}
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for number := 0; len(b) > 0; number++ {
			size := binary.LittleEndian.Uint64(b)
			sound(b[:8], b[8:12])
			sound(b[12:12+size], b[12+size:])
			e := decoded(t, b[12:12+size])
			b = b[16+size:]
			if (number == 0) != (e[3] != nil && e.text(3) == "brain.Event:2") {
				t.Errorf("%s, event %d: %v", name, number, e[3])
			}
			s.take(t, e)
		}
	}
	return s
}

func (s *shown) take(t *testing.T, e fields) {
	step := int64(e[2][0].number)
	if e[7] != nil { // a session
		s.starts = append(s.starts, step)
		for _, of := range s.scalars {
			maps.DeleteFunc(of, func(at int64, _ float64) bool { return at >= step })
		}
	}
	if e[4] != nil {
		s.nodes = map[string][]string{}
		for _, n := range decoded(t, e[4][0].bytes)[1] {
			node := decoded(t, n.bytes)
			s.nodes[node.text(1)] = nil
			for _, in := range node[3] {
				s.nodes[node.text(1)] = append(s.nodes[node.text(1)], string(in.bytes))
			}
		}
	}
	for _, summary := range e[5] {
		for _, v := range decoded(t, summary.bytes)[1] {
			value := decoded(t, v.bytes)
			tag := value.text(1)
			if value[5] != nil {
				h, all := decoded(t, value[5][0].bytes), []float64{}
				for _, f := range []int{3, 4} {
					all = append(all, math.Float64frombits(h[f][0].number))
				}
				for b := h[7][0].bytes; len(b) > 0; b = b[8:] {
					all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(b)))
				}
				if s.histograms[tag] == nil {
					s.histograms[tag] = map[int64][]float64{}
				}
				s.histograms[tag][step] = all
				continue
			}
			if s.scalars[tag] == nil {
				s.scalars[tag] = map[int64]float64{}
			}
			if _, there := s.scalars[tag][step]; there {
				s.twice = append(s.twice, fmt.Sprint(tag, " ", step))
			}
			s.scalars[tag][step] = float64(math.Float32frombits(uint32(value[2][0].number)))
		}
	}
}

// rowed is a job with an embedding beside a dense layer.
func rowed(o train.Options) train.Job {
	g := nn.NewGraph(3)
	row := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "emb", Dim: 2})
	pred := nn.Linear(row, 1, nn.LinearOptions{Name: "out"}).Named("pred")
	y := g.Input("y", 1)
	return train.Job{Options: o, Loss: nn.Mean(nn.SquareError(pred, y)), Rule: optimizer.SGD{LR: 0.1}, Metrics: []*nn.Node{nn.MAE(pred, y).Named("MAE")},
		Outputs: []*nn.Node{pred}, Data: func(context.Context) (rows, test *dataset.Dataset, err error) {
			ids, label := make([]uint64, 480), make([]float32, 480)
			for i := range ids {
				ids[i], label[i] = uint64(i%40), float32(i%40%2)
			}
			all := dataset.FromColumns(dataset.IDValues("id", ids, 1), dataset.FloatValues("y", label, 1))
			return all.Take(400), all.Skip(400), nil
		}}
}

// TestTensorBoard: in every way of training TensorBoard's two runs have what the history has, over the same examples; a job that is started
// again goes on behind its checkpoint, with no point twice, and has histograms, the graph, and rows for the projector.
func TestTensorBoard(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range map[string]struct {
		size    [2]int
		options train.Options
	}{
		"alone": {[2]int{0, 1}, train.Options{}}, "threads": {[2]int{0, 1}, train.Options{Threads: 2}},
		"sync": {[2]int{2, 2}, train.Options{Mode: "sync"}}, "async": {[2]int{2, 2}, train.Options{Mode: "async"}}, "geo": {[2]int{1, 2}, train.Options{Mode: "geo"}},
		"ssp": {[2]int{1, 2}, train.Options{Mode: "ssp"}}, "half_async": {[2]int{1, 2}, train.Options{Mode: "half_async"}},
		"collective": {[2]int{0, 2}, train.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := c.options
			o.Batch, o.Checkpoint = 10, filepath.Join(dir, "checkpoints")
			var history []train.Evaluation
			run := func(epochs, every int) (board, tests *shown) {
				results, _ := play(t, c.size[0], c.size[1], func() train.Job {
					j := rowed(o)
					j.Epochs, j.EvalEvery = epochs, every
					j.Hooks = []train.Hooks{train.TensorBoard{Dir: filepath.Join(dir, "board"), Every: 3, Rows: 7}.Hooks()}
					return j
				})
				history = results[0].History
				return readRun(t, filepath.Join(dir, "board", "train")), readRun(t, filepath.Join(dir, "board", "test"))
			}
			first, _ := run(2, 0)
			if c.size[1] == 1 { // which sees each step
				mean, last := 0.0, int64(0)
				for _, at := range slices.Sorted(maps.Keys(first.scalars["loss"])) {
					if at > 400 {
						mean, last = mean+first.scalars["loss"][at]*float64(at-max(last, 400))/400, at
					}
				}
				if want := history[1].Values[train.TrainLoss]; math.Abs(mean-want) > 1e-5 {
					t.Errorf("the points of an epoch have a mean of %v, and its training loss is %v", mean, want)
				}
			}
			board, tests := run(3, 7)
			if len(board.twice)+len(tests.twice) > 0 || !slices.Equal(board.starts, []int64{0, 801}) || !slices.Equal(tests.starts, board.starts) {
				t.Errorf("points twice %v %v, sessions start at %v", board.twice, tests.twice, board.starts)
			}
			for tag, name := range map[string]string{"loss": "test loss", "MAE": "test MAE"} {
				got := tests.scalars[tag]
				for _, e := range history {
					if v, there := got[int64(e.Examples)]; !there || v != float64(float32(e.Values[name])) {
						t.Errorf("%s at %d examples is %v, want %v", tag, e.Examples, v, e.Values[name])
					}
				}
				if len(got) != len(history) {
					t.Errorf("%s has %d points, and the history %d evaluations", tag, len(got), len(history))
				}
			}
			for at, loss := range first.scalars["loss"] {
				if board.scalars["loss"][at] != loss {
					t.Errorf("the training loss at %d examples was %v, and is %v", at, loss, board.scalars["loss"][at])
				}
			}
			if n := len(board.scalars["loss"]) - len(first.scalars["loss"]); n < 5 || len(board.scalars["pace/gradient_norm"]) != len(history) ||
				len(board.scalars["pace/examples_per_second"]) != len(history) || len(board.scalars["epoch"]) != len(history) {
				t.Errorf("%d points more of the training loss, and %v", n, board.scalars)
			}
			for tag, want := range map[string]float64{"weights/out.w_0": 2, "weights/out.b_0": 1, "gradients/out.w_0": 2, "gradients/out.b_0": 1} {
				at := board.histograms[tag][int64(history[len(history)-1].Examples)]
				if len(at) < 4 || at[0] != want || sum(at[2:]) != want {
					t.Errorf("histogram %s is %v, want %v numbers", tag, at, want)
				}
			}
			for _, tag := range []string{"weights/emb", "gradients/emb"} {
				if at := board.histograms[tag][int64(history[0].Examples)]; len(at) != 32 || at[0] < 10 || at[0] > 20 || at[0] != sum(at[2:]) {
					t.Errorf("histogram %s is %v", tag, at)
				}
			}
			if in := board.nodes["pred"]; !slices.Contains(in, "out/w_0") || len(board.nodes) < 8 {
				t.Errorf("the graph is %v", board.nodes)
			}
			for file, lines := range map[string]int{"embedding_0.tsv": 7, "embedding_0.metadata.tsv": 7, "projector_config.pbtxt": 5} {
				text, err := os.ReadFile(filepath.Join(dir, "board", "train", file))
				if n := strings.Count(string(text), "\n"); err != nil || n != lines {
					t.Errorf("%s: error %v, %d lines\n%s", file, err, n, text)
				}
			}
		})
	}
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// TestTensorBoardBeginsAnew: a job that begins anew in a directory draws nothing of the job before.
func TestTensorBoardBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	job := func(epochs int) train.Job { return rowed(train.Options{Epochs: epochs, Batch: 10, TensorBoard: dir}) }
	run := func(epochs int) train.Evaluation {
		results, _ := play(t, 0, 1, func() train.Job { return job(epochs) })
		return results[0].Last
	}
	run(3)
	last := run(1)
	board, tests := readRun(t, filepath.Join(dir, "train")), readRun(t, filepath.Join(dir, "test"))
	if points := tests.scalars["loss"]; len(points) != 1 || points[400] != float64(float32(last.Values["test loss"])) {
		t.Errorf("the test losses are %v", points)
	}
	if n := len(board.scalars["loss"]); n != 4 { // of 40 steps
		t.Errorf("%d points of the training loss", n)
	}
	play(t, 0, 1, func() train.Job {
		j := job(1)
		rows := j.Data
		j.Metrics, j.Data = nil, func(ctx context.Context) (train, test *dataset.Dataset, err error) {
			train, _, err = rows(ctx)
			return train, nil, err
		}
		return j
	})
	if points := readRun(t, filepath.Join(dir, "test")).scalars["loss"]; len(points) > 0 {
		t.Errorf("a job without test rows has the test losses %v", points)
	}
}

// TestTensorBoardGoesBack: hooks that are made once are those of each run of a process that goes back.
func TestTensorBoardGoesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hooks := train.TensorBoard{Dir: filepath.Join(dir, "board"), Every: 10}.Hooks()
	back := errors.New("back")
	run := func(ends int) {
		fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
			j := rowed(train.Options{Epochs: 3, Batch: 10, Checkpoint: filepath.Join(dir, "checkpoints")})
			j.Stdout = io.Discard
			j.Hooks = []train.Hooks{hooks, {EpochEnd: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
				if r.Epoch == ends {
					return back
				}
				return nil
			}}}
			if _, err := j.Run(ctx, f); !errors.Is(err, back) {
				return err
			}
			return nil
		})
	}
	run(1)
	run(-1)
	board := readRun(t, filepath.Join(dir, "board", "train"))
	if len(board.twice) > 0 || !slices.Equal(board.starts, []int64{0, 401}) || len(board.scalars["epoch"]) != 3 {
		t.Errorf("points twice %v, sessions start at %v, epochs %v", board.twice, board.starts, board.scalars["epoch"])
	}
}
