package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Sealed is a file's size and checksum in a record, by which a checkpoint's parts and the files of a saved model are
// verified.
type Sealed struct {
	Bytes int64
	Sum   string
	// In names the record in errors.
	In string
}

// ErrUnlike is the error of a file that differs from its record.
var ErrUnlike = errors.New("not what was saved")

// Open opens a file and verifies it by reading all of it. A file in a store is read once: later reads come from a copy
// on this machine.
func (s Sealed) Open(ctx context.Context, name string) (Reading, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	from := io.Reader(io.NewSectionReader(f, 0, s.Bytes))
	if far, is := f.(*remote); is {
		if far.whole, err = NewScratch(); err == nil {
			stream := far.stream(ctx)
			defer stream.Close()
			from = io.TeeReader(stream, far.whole)
		}
	}
	if err == nil {
		err = s.check(ctx, f, from)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Check verifies a file without leaving it open.
func (s Sealed) Check(ctx context.Context, name string) error {
	f, err := Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	from := io.Reader(io.NewSectionReader(f, 0, s.Bytes))
	if far, is := f.(*remote); is {
		stream := far.stream(ctx)
		defer stream.Close()
		from = stream
	}
	return s.check(ctx, f, from)
}

// Sign sets sum, a field of record, to the checksum of the record's JSON without spaces and with an empty sum. text is
// the record's JSON to be written.
func Sign(record any, sum *string) (text []byte, err error) {
	*sum = ""
	data, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	*sum = SumOf(data)
	text, err = json.MarshalIndent(record, "", "  ")
	return append(text, '\n'), err
}

// SumOfRecord returns the checksum of a record's text, in which sum is its checksum field. It covers fields that a
// later version has added. It is empty if text is not a record with that sum.
func SumOfRecord(text []byte, sum string) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return ""
	}
	at := bytes.LastIndex(b.Bytes(), []byte(sum))
	if sum == "" || at < 0 {
		return ""
	}
	return SumOf(slices.Delete(b.Bytes(), at, at+len(sum)))
}

// check compares a file's size, and the checksum of the bytes of from, with the record.
func (s Sealed) check(ctx context.Context, f Reading, from io.Reader) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() != s.Bytes {
		return fmt.Errorf("%d bytes, %s says %d: %w", st.Size(), s.In, s.Bytes, ErrUnlike)
	}
	sum, err := SumReader(ctx, from)
	if err != nil {
		return err
	}
	if sum != s.Sum {
		return fmt.Errorf("checksum %s, %s says %s: %w", sum, s.In, s.Sum, ErrUnlike)
	}
	return nil
}
