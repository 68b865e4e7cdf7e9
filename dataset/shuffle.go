package dataset

import (
	"cmp"
	"context"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Shuffle puts the rows in a random order that is a function of seed and [Dataset.Epoch] alone. The rows must be in
// memory (see [Dataset.Load]); for streamed rows use [Dataset.ShuffleWindow].
func (d *Dataset) Shuffle(seed uint64) *Dataset {
	v, ok := d.source.(*view)
	if !ok {
		return d.fail("Shuffle: rows stream by; call Load first, or shuffle within ShuffleWindow")
	}
	return d.with(v.then(v.len, v.why, func(order []int, epoch int) []int {
		permute(order, seed, epoch, 0)
		return order
	}))
}

// ShuffleGroups is Shuffle that keeps rows with the same value in a column, such as the documents of a query, next to
// each other, for losses that compare them. After a [Dataset.Shard] of so many workers, times their threads, each has
// whole groups too, but for those where two shares meet. The rows keep the order that they have at the call.
func (d *Dataset) ShuffleGroups(column string, seed uint64, workers int) *Dataset {
	v, memory := d.source.(*view)
	if !memory || workers < 1 {
		return d.fail("ShuffleGroups(%q, %d, %d): want rows in memory (Load), and 1 worker or more", column, seed,
			workers)
	}
	t, err := d.Select(column).Table(context.Background())
	if err != nil {
		return d.failed(err)
	}
	v = v.at(d.epoch)
	return d.with(v.then(v.len, v.why, func(order []int, epoch int) []int {
		places, keys, dealt := count(len(order)), make([]uint64, len(order)), make([]int, len(order))
		for i := range keys {
			keys[i] = mix(Row{t, i}.hash(0) ^ mix(seed^mix(uint64(epoch))))
		}
		permute(places, seed, epoch, 0)
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
		for w, next := 0, 0; w < workers; w++ {
			for i := w; i < len(dealt); i += workers {
				dealt[i], next = order[places[next]], next+1
			}
		}
		return dealt
	}))
}

// ShuffleWindow shuffles streamed rows in consecutive windows of the given number of rows.
func (d *Dataset) ShuffleWindow(rows int, seed uint64) *Dataset {
	if rows < 1 {
		return d.fail("ShuffleWindow(%d): want a window of 1 row or more", rows)
	}
	return d.with(&windowed{d.source, rows, seed})
}

type windowed struct {
	Source
	rows int
	seed uint64
}

func (w *windowed) Open(epoch int) (Reader, error) { return w.OpenContext(context.Background(), epoch) }

func (w *windowed) OpenContext(ctx context.Context, epoch int) (Reader, error) {
	r, err := open(ctx, w.Source, epoch)
	if err != nil {
		return nil, err
	}
	return &windowReader{Reader: r, windowed: w, window: newTable(w.Columns()), epoch: epoch}, nil
}

type windowReader struct {
	Reader
	*windowed
	epoch, number int
	window        *Table
	rest          []int
}

func (r *windowReader) Read(t *Table, n int) (int, error) {
	if len(r.rest) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n = min(n, len(r.rest))
	t.gather(r.window, r.rest[:n])
	r.rest = r.rest[n:]
	return n, nil
}

// fill reads the next window and draws its order.
func (r *windowReader) fill() error {
	r.window.Reset()
	for r.window.Len() < r.rows {
		_, err := r.Reader.Read(r.window, r.rows-r.window.Len())
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.window.Len() == 0 {
		return io.EOF
	}
	r.rest = count(r.window.Len())
	permute(r.rest, r.seed, r.epoch, r.number)
	r.number++
	return nil
}

// permute shuffles order (Fisher and Yates, from the end) with the random numbers of this seed, epoch and window. It
// does not use math/rand's shuffle, so that orders stay the same over releases of Go.
func permute(order []int, seed uint64, epoch, window int) {
	random := rand.NewPCG(mix(seed), mix(uint64(epoch)+1)^uint64(window))
	for i := len(order) - 1; i > 0; i-- {
		j, _ := bits.Mul64(random.Uint64(), uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
}

// mix spreads the bits of x (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps x to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }
