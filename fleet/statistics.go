package fleet

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/backend"
)

// statistics are values of frozen dense params that each worker computes of its own batches while it trains, such as
// the moving averages of batch norm. Where workers meet all take their mean, by the steps that each has made since they
// met last, so that they evaluate one model, which is the one that is saved.
type statistics struct {
	apart bool // workers may have some of their own, which all say alike; since Minimize
	mu    sync.Mutex
	own   report
}

// report is what a worker brings to a meeting.
type report struct {
	Of map[string]statistic // by name of the param
	// Loaded says that it had weights loaded since the last: they count then.
	Loaded bool
}

// statistic is a param's values after so many steps.
type statistic struct {
	Steps int
	W     []float32
}

// set takes note of the values after another step.
func (s *statistics) set(name string, w []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own.Of == nil {
		s.own.Of = map[string]statistic{}
	}
	s.own.Of[name] = statistic{s.own.Of[name].Steps + 1, append(s.own.Of[name].W[:0], w...)}
}

// loaded takes note of a load.
func (s *statistics) loaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Loaded = true
}

// gather is b's, which brings the statistics of all workers beside their data where they have some.
func (s *statistics) gather(ctx context.Context, b backend.Trainer, call string, data []byte) ([][]byte, error) {
	if !s.apart {
		return b.Gather(ctx, call, data)
	}
	mine := s.report()
	said, err := mine.pack(data)
	var all [][]byte
	if err == nil {
		all, err = b.Gather(ctx, call, said)
	}
	if err != nil {
		s.giveBack(mine)
		return nil, err
	}
	reports := make([]report, len(all))
	for w := range all {
		if all[w], err = reports[w].unpack(all[w]); err != nil {
			return nil, fmt.Errorf("what worker %d says of its statistics: %w; do all run the same build?", w, err)
		}
	}
	for name, w := range means(reports) {
		err = errors.Join(err, b.SetDense(name, w))
	}
	return all, err
}

// report is what this worker has counted, which begins anew.
func (s *statistics) report() (mine report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, s.own = s.own, report{}
	return mine
}

// giveBack takes a report back that was not brought to a meeting. Values that were set since come after it.
func (s *statistics) giveBack(mine report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := s.own
	if s.own = mine; s.own.Of == nil {
		s.own.Of = newer.Of
	}
	s.own.Loaded = mine.Loaded || newer.Loaded
	for name, is := range newer.Of {
		s.own.Of[name] = statistic{mine.Of[name].Steps + is.Steps, is.W}
	}
}

// packed is a report as it travels: in order, so that a call that is repeated brings the same bytes.
type packed struct {
	Names  []string
	Values []statistic
	Loaded bool
}

// pack puts a report before a worker's data.
func (r *report) pack(data []byte) ([]byte, error) {
	p := packed{Names: slices.Sorted(maps.Keys(r.Of)), Loaded: r.Loaded}
	for _, name := range p.Names {
		p.Values = append(p.Values, r.Of[name])
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(p)
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes(), data), err
}

// unpack reads what pack has written, and returns the data; nil of a worker that is gone, and nothing of one that
// brought it too long ago.
func (r *report) unpack(said []byte) (data []byte, err error) {
	if len(said) == 0 { // of a barrier that others have behind them
		return said, nil
	}
	if len(said) < 4 || uint64(len(said)-4) < uint64(binary.LittleEndian.Uint32(said)) {
		return nil, errors.New("it is cut off")
	}
	n := 4 + binary.LittleEndian.Uint32(said)
	var p packed
	if err = gob.NewDecoder(bytes.NewReader(said[4:n])).Decode(&p); err != nil {
		return nil, err
	}
	if len(p.Values) != len(p.Names) {
		return nil, fmt.Errorf("it names %d params and has the values of %d", len(p.Names), len(p.Values))
	}
	r.Loaded, r.Of = p.Loaded, make(map[string]statistic, len(p.Names))
	for i, name := range p.Names {
		r.Of[name] = p.Values[i]
	}
	return said[n:], nil
}

// means are the values that all go on with, by name.
func means(reports []report) map[string][]float32 {
	sums, steps := map[string][]float64{}, map[string]int{}
	for _, r := range reports {
		if r.Loaded {
			return nil
		}
		for name, s := range r.Of {
			if sums[name] == nil {
				sums[name] = make([]float64, len(s.W))
			}
			for i := range min(len(s.W), len(sums[name])) {
				sums[name][i] += float64(s.Steps) * float64(s.W[i])
			}
			steps[name] += s.Steps
		}
	}
	all := map[string][]float32{}
	for name, sum := range sums {
		all[name] = make([]float32, len(sum))
		for i := range sum {
			all[name][i] = float32(sum[i] / float64(steps[name]))
		}
	}
	return all
}
