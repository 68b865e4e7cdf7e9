package nn

import (
	bin "encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
)

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
	return hash*each + int(mix(uint64(id)+uint64(hash+1)*0x9e3779b97f4a7c15)%uint64(each))
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
