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
// the moving averages of batch norm. When workers meet, all take the mean, weighted by each worker's steps since they
// last met, so that they evaluate one model, which is also the one that is saved.
type statistics struct {
	apart bool // workers may have different values, which is the same on all; set by Minimize
	mu    sync.Mutex
	own   report
}

// report is what a worker sends to a meeting.
type report struct {
	Of map[string]statistic // by name of the param
	// Loaded reports that it loaded weights since the last meeting: then its values count.
	Loaded bool
}

// statistic is a param's values after Steps steps.
type statistic struct {
	Steps int
	W     []float32
}

// set stores the values after another step.
func (s *statistics) set(name string, w []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own.Of == nil {
		s.own.Of = map[string]statistic{}
	}
	s.own.Of[name] = statistic{s.own.Of[name].Steps + 1, append(s.own.Of[name].W[:0], w...)}
}

// loaded notes a load.
func (s *statistics) loaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Loaded = true
}

// gather is the backend's gather. If workers have statistics, it also takes the mean of them.
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

// report returns this worker's values and resets them.
func (s *statistics) report() (mine report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, s.own = s.own, report{}
	return mine
}

// giveBack restores a report that was not sent. Values that were set since are newer.
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

// packed is the encoding of a report: in order, so that a repeated call sends the same bytes.
type packed struct {
	Names  []string
	Values []statistic
	Loaded bool
}

// pack encodes a report before a worker's data.
func (r *report) pack(data []byte) ([]byte, error) {
	p := packed{Names: slices.Sorted(maps.Keys(r.Of)), Loaded: r.Loaded}
	for _, name := range p.Names {
		p.Values = append(p.Values, r.Of[name])
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(p)
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes(), data), err
}

// unpack decodes what pack has written, and returns the data; nil for a worker that is gone, and empty for one whose
// data are no longer kept.
func (r *report) unpack(said []byte) (data []byte, err error) {
	if len(said) == 0 { // a barrier that the others completed long ago
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

// means are the values with which all go on, by name.
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
