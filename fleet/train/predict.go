package train

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// predicted is the number of rows that a worker predicts before all exchange their outputs.
const predicted = 1024

// Predict computes outputs for all rows and writes them as CSV, in the order of rows: a header with the names of the
// nodes, as in a saved model's signature, then a line for each row. A node with several elements per example has that
// many columns, name_0 and so on. Every worker of the job must call it with the same rows, and computes its share in
// pieces; rows in memory that differ are refused; worker 0 writes, and the other workers' to may be nil. It returns the
// number of rows. If a worker dies, its rows are missing, which is an error.
//
// It needs no Job. With a saved model and your own fleet, of one process or of collective workers, which join at the
// first call:
//
//	m, err := serve.Load("output/model")
//	rows, err := m.Rows("tomorrow.csv") // which need no labels
//	f, err := fleet.Init(nil)
//	n, err := train.Predict(ctx, f, rows, os.Stdout, m.Outputs...)
//	err = f.StopWorker(ctx) // after the last call: other workers may still need this one
//
// A job calls it in the hook End. Rows must have the columns from which the outputs are computed; with Dataset.Select
// of only these, lines of files need no others.
func Predict(ctx context.Context, f *fleet.Fleet, rows *dataset.Dataset, to io.Writer, outputs ...*nn.Node) (n int,
	err error) {
	if err := checkGiven("Predict", f, rows); err != nil {
		return 0, err
	}
	if to == nil && f.WorkerIndex() == 0 {
		return 0, fmt.Errorf("train: Predict: the writer is nil, and this is worker 0, which writes: give it " +
			"os.Stdout, or a file")
	}
	p, err := newPrediction(f, outputs)
	if err != nil {
		return 0, err
	}
	if err := join(ctx, f, "Predict"); err != nil {
		return 0, err
	}
	if err := sameRows(ctx, f, "Predict", rows); err != nil {
		return 0, err
	}
	mine := rows.ShardRows(f.WorkerIndex(), f.WorkerNum()).MayBeEmpty().Prefetch(2)
	next, stop := iter.Pull2(mine.BatchesContext(ctx, predicted))
	defer stop()
	for {
		piece, err := p.piece(ctx, next)
		if err != nil {
			return p.rows, err
		}
		all, err := f.AllGatherBytes(ctx, piece)
		if err != nil {
			return p.rows, err
		}
		if lost := slices.IndexFunc(all, func(b []byte) bool { return b == nil }); lost >= 0 {
			return p.rows, fmt.Errorf("train: Predict: worker %d is lost, and its rows from %d on have no predictions",
				lost, p.rows)
		}
		given := len(slices.Concat(all...)) / (4 * p.width)
		over, before := given == 0, p.rows
		if !over || !p.begun { // without rows there is a line with the labels
			if err := p.write(to, all); err != nil {
				return p.rows, err
			}
		}
		if p.rows-before != given {
			return p.rows, fmt.Errorf("train: Predict: workers have different rows: row %d of all is missing, and "+
				"later ones are not: give all workers the same", p.rows)
		}
		if over {
			return p.rows, p.exe.Close(ctx)
		}
	}
}

// join makes the workers of a fleet without a job join, to predict and to measure with a saved model.
func join(ctx context.Context, f *fleet.Fleet, call string) error {
	if _, err := f.Plan(); f.ServerNum() == 0 && f.WorkerNum() == 1 || !errors.Is(err, fleet.ErrOrder) {
		return nil
	}
	if f.ServerNum() > 0 {
		return fmt.Errorf("train: %s: this is %v, whose job has not begun: without a job, start the program alone, or "+
			"as collective workers (fleetrun --worker_num=2, without servers)", call, f)
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Strategy{})
	if err == nil {
		err = opt.Minimize(untrained{})
	}
	if err != nil {
		return err
	}
	return f.InitWorker(ctx)
}

// untrained is the objective of workers that train nothing.
type untrained struct{}

// Params implements [optimizer.Objective].
func (untrained) Params() []*optimizer.Param {
	return []*optimizer.Param{{Name: "nothing is trained", Shape: []int{1}, W: make([]float32, 1), Frozen: true}}
}

// Bind implements [optimizer.Objective].
func (untrained) Bind(optimizer.Trainer) {}

// prediction is the state of one Predict.
type prediction struct {
	exe     *nn.Executor
	outputs []*nn.Node
	width   int  // numbers in a row
	writes  bool // this worker writes
	begun   bool // the labels are written
	rows    int  // so far, of all workers
}

func newPrediction(f *fleet.Fleet, outputs []*nn.Node) (*prediction, error) {
	p := &prediction{outputs: outputs, writes: f.WorkerIndex() == 0}
	for i, n := range outputs {
		switch {
		case n == nil || n.Graph() != outputs[0].Graph():
			return nil, fmt.Errorf("train: Predict: output %d, %v, is nil or of another graph than the first", i, n)
		case len(n.Shape()) == 0 || n.Shape()[0] != -1:
			return nil, fmt.Errorf("train: Predict: output %v has no value for each row", n)
		}
		p.width += verdict.Width(n)
	}
	if p.width == 0 {
		return nil, fmt.Errorf("train: Predict: no outputs: give it the nodes to compute for each row, such as a " +
			"model's Outputs")
	}
	p.exe = nn.NewExecutor(outputs[0].Graph())
	return p, nil
}

// piece is the outputs of the next rows, row by row; it is empty when there are no more.
func (p *prediction) piece(ctx context.Context, next func() (dataset.Batch, error, bool)) ([]byte, error) {
	batch, err, more := next()
	if err != nil || !more {
		return []byte{}, err
	}
	out, err := p.exe.Eval(ctx, batch, p.outputs...)
	if err != nil {
		return nil, err
	}
	n := p.exe.Examples()
	b := make([]byte, 0, 4*n*p.width)
	for row := range n {
		for i, node := range p.outputs {
			w := verdict.Width(node)
			if out[i].Dtype() != tensor.Float32 {
				return nil, fmt.Errorf("train: Predict: output %v holds %v, and predictions are float32: take "+
					"nn.Cast(…, nn.Float32) of it", node, out[i].Dtype())
			}
			b, _ = binary.Append(b, binary.LittleEndian, out[i].Float32s()[row*w:(row+1)*w])
		}
	}
	return b, nil
}

// write merges the workers' pieces in the order of rows: row i is of worker i mod the number of workers.
func (p *prediction) write(to io.Writer, all [][]byte) error {
	buffered := bufio.NewWriter(to)
	out, line := csv.NewWriter(buffered), make([]string, p.width)
	if !p.begun && p.writes {
		if err := out.Write(p.header()); err != nil {
			return err
		}
	}
	p.begun = true
	size := 4 * p.width
	for i := 0; ; i++ {
		b, row := all[i%len(all)], i/len(all)
		if len(b) < (row+1)*size {
			break
		}
		p.rows++
		if !p.writes {
			continue
		}
		for j := range line {
			v := math.Float32frombits(binary.LittleEndian.Uint32(b[row*size+4*j:]))
			line[j] = strconv.FormatFloat(float64(v), 'g', -1, 32)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	if !p.writes {
		return nil
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return buffered.Flush()
}

// header has the names of the columns.
func (p *prediction) header() (names []string) {
	for _, n := range p.outputs {
		width := verdict.Width(n)
		if width == 1 {
			names = append(names, n.Name())
			continue
		}
		for i := range width {
			names = append(names, fmt.Sprintf("%s_%d", n.Name(), i))
		}
	}
	return names
}

// checkGiven refuses a nil fleet, and nil rows.
func checkGiven(call string, f *fleet.Fleet, rows *dataset.Dataset) error {
	switch {
	case f == nil:
		return fmt.Errorf("train: %s: the fleet is nil: give it what fleet.Init returns, or a Run's Fleet", call)
	case rows == nil:
		return fmt.Errorf("train: %s: the rows are nil: give it a dataset, such as dataset.FromFiles(format, paths...)",
			call)
	}
	return nil
}
