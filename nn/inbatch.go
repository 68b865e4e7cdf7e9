package nn

import (
	"cmp"
	bin "encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
)

// InBatchOptions change an [InBatchSoftmax].
type InBatchOptions struct {
	// Temperature divides the scores; 0 means 1.
	Temperature float32
	// LogQ is a float32 feed of shape [N 1]: the logarithm of how often each item is in a batch, as [Frequencies]
	// estimates it. It is subtracted from the item's scores; without it frequent items score too low, since they are
	// negatives more often. It gets no gradient.
	LogQ *Node
	// IDs is an int64 feed of shape [N 1]: the ids of the items. The same item in another row does not count as a
	// negative.
	IDs *Node
}

// InBatchSoftmax trains two towers, of users and of items, both of shape [N D]: row i of both belong together, and the
// items of the batch's other rows are the negatives. With s = user·itemᵀ/Temperature − LogQ the loss, of shape [N 1],
// is
//
//	ln Σⱼ exp(sᵢⱼ) − sᵢᵢ
//
// over i itself and the items j with another id (Yi et al., 2019). It is 0 if there is no other item. The negatives
// come from one worker's own batch, or from one thread's.
func InBatchSoftmax(user, item *Node, o InBatchOptions) *Node {
	in := []*Node{user, item}
	for _, n := range []*Node{o.LogQ, o.IDs} {
		if n != nil {
			in = append(in, n)
		}
	}
	return apply("", inBatchSoftmax{o.Temperature, o.LogQ != nil, o.IDs != nil}, in...)
}

type inBatchSoftmax struct {
	Temperature float32 `json:"temperature,omitempty"`
	LogQ        bool    `json:"log_q,omitempty"`
	IDs         bool    `json:"ids,omitempty"`
}

func (inBatchSoftmax) kind() string          { return "in_batch_softmax" }
func (inBatchSoftmax) passes(input int) bool { return input < 2 }
func (inBatchSoftmax) mixes()                {}
func (inBatchSoftmax) bitwise()              {}

func (o inBatchSoftmax) infer(in []*Node) ([]int, error) {
	user, item := in[0], in[1]
	if !(o.Temperature >= 0) {
		return nil, fmt.Errorf("temperature is %v: it must be above 0", o.Temperature)
	}
	if len(user.shape) != 2 || user.shape[0] != batch || !equalShapes(user.shape, item.shape) {
		return nil, fmt.Errorf("users and items of one shape [N D] are needed, not %v and %v", user, item)
	}
	floats, want := in, 2
	if o.LogQ {
		want++
	}
	if o.IDs {
		want++
		if ids := in[len(in)-1]; !isInt(ids) {
			return nil, fmt.Errorf("IDs %v are not int64", ids)
		}
		floats = in[:len(in)-1]
	}
	if len(in) != want {
		return nil, fmt.Errorf("%d inputs where there should be %d", len(in), want)
	}
	for _, n := range in[2:] {
		if n.shape[0] != batch || n.perExample() != 1 {
			return nil, fmt.Errorf("%v is not one number an example", n)
		}
	}
	return []int{batch, 1}, wantFloat(floats)
}

// forward stores the probabilities [N N] for backward.
func (o inBatchSoftmax) forward(c *cell) {
	user, item, n := c.in[0], c.in[1], c.rows()
	p := c.scratch(n * n)
	kernels.Gemm(false, true, n, n, user.cols(), user.value, item.value, p, false)
	if inverse := o.inverse(); inverse != 1 {
		kernels.Scale(inverse, p)
	}
	o.leaveOut(c, p)
	for i := range n {
		row := p[i*n : (i+1)*n]
		if o.LogQ {
			kernels.Axpy(-1, c.in[2].value, row)
		}
		own := float64(row[i])
		top, sum := kernels.Exponentials(row, row)
		kernels.Scale(1/sum, row)
		c.value[i] = float32(float64(top) + math.Log(float64(sum)) - own)
	}
}

// leaveOut removes other rows of the same item from an item's negatives.
func (o inBatchSoftmax) leaveOut(c *cell, scores []float32) {
	if !o.IDs {
		return
	}
	ids, n := c.in[len(c.in)-1].ids, c.rows()
	order := c.scratchInts(n) // rows of the same item are adjacent
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	for at, i := range order {
		for _, j := range order[at+1:] {
			if ids[j] != ids[i] {
				break
			}
			scores[int(i)*n+int(j)] = float32(math.Inf(-1))
			scores[int(j)*n+int(i)] = float32(math.Inf(-1))
		}
	}
}

func (o inBatchSoftmax) inverse() float32 {
	if o.Temperature == 0 {
		return 1
	}
	return 1 / o.Temperature
}

func (o inBatchSoftmax) backward(c *cell) {
	user, item, n := c.in[0], c.in[1], c.rows()
	ds := c.scratch(n * n)
	for i, g := range c.grad {
		row := ds[i*n : (i+1)*n]
		row[i]--
		kernels.Scale(g*o.inverse(), row)
	}
	if user.wanted {
		kernels.Gemm(false, false, n, user.cols(), n, ds, item.value, user.grad, user.adds())
	}
	if item.wanted {
		kernels.Gemm(true, false, n, item.cols(), n, ds, user.value, item.grad, item.adds())
	}
}

// Frequencies estimates how often items occur in a batch, from a stream of batches in constant memory (Yi et al., 2019,
// algorithm 3): for each item it keeps when it was last seen and a moving average of the number of batches in between.
// Use it where batches are made, for the LogQ of [InBatchSoftmax]; several goroutines may share one.
//
// Each worker estimates from its own batches. A job that resumes from a checkpoint starts a new estimate, unless its
// program saves the result of MarshalBinary.
type Frequencies struct {
	mu   sync.Mutex // guards the fields below
	rate float64
	step int64
	last []int64   // batch in which an item of a bucket was last seen, 0 for never
	gap  []float64 // batches from one time to the next
}

// frequencyHashes is the number of buckets of an item. The rarest one counts, so that two items seldom share an
// estimate.
const frequencyHashes = 2

// NewFrequencies makes an estimate with the given number of buckets, each of 32 bytes; choose several times the number
// of items. rate is the weight of each new distance in the average, such as 0.01; a higher rate follows changes sooner.
func NewFrequencies(buckets int, rate float64) (*Frequencies, error) {
	if buckets < 1 || buckets > maxDense || !(rate > 0 && rate <= 1) {
		return nil, fmt.Errorf("nn: frequencies: %d buckets and rate %v: 1 bucket or more, and a rate above 0 and up "+
			"to 1 are needed", buckets, rate)
	}
	n := buckets * frequencyHashes
	return &Frequencies{rate: rate, last: make([]int64, n), gap: make([]float64, n)}, nil
}

// LogQ adds the items of one batch to the estimate, and sets logq, which has the same length, to the logarithm of how
// often each occurs in a batch.
func (f *Frequencies) LogQ(ids []int64, logq []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step++
	for _, id := range ids {
		for h := range frequencyHashes {
			f.see(f.bucket(id, h))
		}
	}
	for i, id := range ids {
		gap := 0.0
		for h := range frequencyHashes {
			gap = max(gap, f.gap[f.bucket(id, h)])
		}
		logq[i] = float32(-math.Log(gap))
	}
}

const leastGap = 1e-6

// see counts one more occurrence. The first distance is the one from the beginning.
func (f *Frequencies) see(b int) {
	passed := float64(f.step - f.last[b])
	if f.last[b] == 0 {
		f.gap[b] = passed
	}
	f.gap[b] = max(leastGap, (1-f.rate)*f.gap[b]+f.rate*passed)
	f.last[b] = f.step
}

func (f *Frequencies) bucket(id int64, hash int) int {
	each := len(f.last) / frequencyHashes
	return hash*each + int(kernels.Mix(uint64(id)+uint64(hash+1)*0x9e3779b97f4a7c15)%uint64(each))
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (f *Frequencies) MarshalBinary() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := bin.LittleEndian.AppendUint64(nil, math.Float64bits(f.rate))
	b, err := bin.Append(b, bin.LittleEndian, f.step)
	for _, part := range []any{f.last, f.gap} {
		if err == nil {
			b, err = bin.Append(b, bin.LittleEndian, part)
		}
	}
	return b, err
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (f *Frequencies) UnmarshalBinary(b []byte) error {
	n := (len(b) - 16) / 16
	if n < frequencyHashes || len(b) != 16+16*n || n%frequencyHashes != 0 {
		return errors.New("nn: frequencies: the bytes are not what MarshalBinary has written")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rate, f.step = math.Float64frombits(bin.LittleEndian.Uint64(b)), int64(bin.LittleEndian.Uint64(b[8:]))
	f.last, f.gap = make([]int64, n), make([]float64, n)
	if _, err := bin.Decode(b[16:], bin.LittleEndian, f.last); err != nil {
		return err
	}
	_, err := bin.Decode(b[16+8*n:], bin.LittleEndian, f.gap)
	return err
}
