package weights

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"
)

// WriteText writes rows as text, a line for each, in the order of rows: the id, a tab, and the weights separated by
// commas, each with the fewest digits that read back exactly.
//
//	42	0.25,-1.5e-05,3
func WriteText(w io.Writer, rows iter.Seq2[Row, error]) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for r, err := range rows {
		if err == nil {
			line, _ = r.AppendText(line[:0])
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("weights: WriteText: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("weights: WriteText: %w", err)
	}
	return nil
}

// AppendText implements [encoding.TextAppender]: a line of [WriteText], without the line end. The error is always nil.
func (r Row) AppendText(b []byte) ([]byte, error) {
	b = append(strconv.AppendUint(b, r.ID, 10), '\t')
	for i, v := range r.W {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	return b, nil
}

// appendFloat writes a number in as few digits as it takes to read it back.
func appendFloat(b []byte, v float32) []byte { return strconv.AppendFloat(b, float64(v), 'g', -1, 32) }

// ReadText reads what [WriteText] writes.
func ReadText(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, number, row := lines(r), 0, Row{}
		for in.Scan() {
			number++
			dim := len(row.W)
			err := row.parse(in.Bytes())
			if err == nil && number > 1 && len(row.W) != dim {
				err = fmt.Errorf("%d numbers, lines before it have %d", len(row.W), dim)
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("weights: ReadText: line %d: %w", number, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(Row{}, fmt.Errorf("weights: ReadText: line %d: %w", number+1, err))
		}
	}
}

// parse parses a line.
func (r *Row) parse(line []byte) (err error) {
	id, numbers, found := bytes.Cut(line, []byte("\t"))
	if r.ID, err = strconv.ParseUint(string(id), 10, 64); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("no tab follows the id %d", r.ID)
	}
	r.W, err = parseFloats(r.W[:0], bytes.SplitSeq(numbers, []byte(",")))
	return err
}

// lines scans the lines of a text, of at most 64 MiB each.
func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<26)
	return s
}

// parseFloats appends decimal numbers to w.
func parseFloats(w []float32, fields iter.Seq[[]byte]) ([]float32, error) {
	for field := range fields {
		v, err := strconv.ParseFloat(string(field), 32)
		if err != nil {
			return w, fmt.Errorf("number %d: %w", len(w)+1, err)
		}
		w = append(w, float32(v))
	}
	return w, nil
}
