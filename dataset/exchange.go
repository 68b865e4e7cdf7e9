package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A round of an exchange is a message from each worker to all: a byte for how it continues, then, for each worker in
// turn, the length of its rows, a uvarint, and the rows.
const (
	lastRound byte = iota
	moreRounds
	gaveUp // the reason follows
)

// maxRound is the approximate number of bytes that a worker receives in a round, and maxMessage that it sends.
const (
	maxRound   = 32 << 20
	maxMessage = 1 << 20
)

// exchange sends each row to a worker that is a function of seed, sender and position, and returns the rows that this
// worker received: by round and sender, its own last. A failed worker sends its error instead of rows.
func (m *meeting) exchange(ctx context.Context, rows *Dataset, failed error) (*Dataset, error) {
	e := &exchange{meeting: m, me: m.x.WorkerIndex()}
	if failed == nil {
		e.rows = tableOf(rows)
		e.got = newTable(e.rows.Columns())
	}
	for more := true; more; {
		all, err := m.x.AllGatherBytes(ctx, e.message(failed))
		if failed != nil {
			return nil, failed
		}
		if err == nil {
			more, err = e.receive(all)
		}
		if err != nil {
			return nil, fmt.Errorf("dataset: GlobalShuffle: %w", err)
		}
	}
	e.got.gather(e.rows, e.own)
	return FromTable(e.got), nil
}

type exchange struct {
	*meeting
	me   int
	rows *Table // to send away
	next int    // the first row that is not sent yet
	own  []int  // rows that stay
	got  *Table
}

// message returns this worker's part of the next round.
func (e *exchange) message(failed error) []byte {
	if failed != nil {
		return append([]byte{gaveUp}, failed.Error()...)
	}
	parts := make([][]byte, slices.Max(e.living)+1)
	for size := 0; e.next < e.rows.Len() && size < min(maxMessage, maxRound/len(e.living)); e.next++ {
		to := e.draw(e.next)
		if to == e.me {
			e.own = append(e.own, e.next)
			continue
		}
		before := len(parts[to])
		parts[to] = e.rows.appendRow(e.rows.appendOrigin(parts[to], e.next), e.next)
		size += len(parts[to]) - before
	}
	message := []byte{lastRound}
	if e.next < e.rows.Len() {
		message[0] = moreRounds
	}
	for _, part := range parts {
		message = append(binary.AppendUvarint(message, uint64(len(part))), part...)
	}
	return message
}

// draw returns the worker that gets row i.
func (e *exchange) draw(i int) int {
	n, _ := bits.Mul64(mix(^e.seed^mix(uint64(e.me)<<40+uint64(i)+1)), uint64(len(e.living)))
	return e.living[n]
}

// receive takes this worker's rows of a round, and reports whether there is another.
func (e *exchange) receive(all [][]byte) (more bool, err error) {
	for _, w := range e.living {
		if len(all) <= w || len(all[w]) == 0 {
			return false, fmt.Errorf("worker %d has left, and its rows with it", w)
		}
		state, rest := all[w][0], all[w][1:]
		if state == gaveUp {
			return false, fmt.Errorf("worker %d has no rows to give: %s", w, rest)
		}
		more = more || state == moreRounds
		part, err := partOf(rest, e.me)
		for err == nil && len(part) > 0 {
			if part, err = e.got.readOrigin(part, w, e.files[w]); err == nil {
				part, err = e.got.readRow(part)
			}
		}
		if err != nil {
			return false, fmt.Errorf("what worker %d sends: %w", w, err)
		}
	}
	return more, nil
}

var errCutRows = errors.New("its rows are cut off")

// partOf returns the n-th part of a message.
func partOf(message []byte, n int) (part []byte, err error) {
	for range n + 1 {
		size, used := binary.Uvarint(message)
		if used <= 0 || size > uint64(len(message)-used) {
			return nil, errCutRows
		}
		part, message = message[used:used+int(size)], message[used+int(size):]
	}
	return part, nil
}

// appendRow writes row r: the values of each column, little-endian, after their number if the column is varying.
func (t *Table) appendRow(b []byte, r int) []byte {
	for c := range t.columns {
		v := &t.columns[c]
		lo, hi := v.span(r)
		if v.Varying {
			b = binary.AppendUvarint(b, uint64(hi-lo))
		}
		b = v.appendBytes(b, lo, hi)
	}
	return b
}

// readRow appends the row at the beginning of b to t, and returns the bytes after it.
func (t *Table) readRow(b []byte) (rest []byte, err error) {
	for c := range t.columns {
		v := &t.columns[c]
		n := uint64(v.width)
		if v.Varying {
			var used int
			if n, used = binary.Uvarint(b); used <= 0 {
				return nil, errCutRows
			}
			b = b[used:]
		}
		if n > uint64(len(b)/v.bytesEach()) {
			return nil, errCutRows
		}
		b = v.readBytes(b, int(n))
	}
	t.commit()
	return b, nil
}
