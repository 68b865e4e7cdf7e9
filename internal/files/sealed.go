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

// Sealed is a file as a record names it: what makes a checkpoint's parts, and the files of a saved model, whole or
// refused.
type Sealed struct {
	Bytes int64
	Sum   string
	// In is the record, for messages.
	In string
}

// ErrUnlike says that a file is not what a record says.
var ErrUnlike = errors.New("not what was saved")

// Open opens a file and reads it to see that it is what was saved. One in a store is read once: what is read of it
// afterwards comes from a copy on this machine.
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

// Check is Open of a file that nothing else is read of.
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

// Sign gives a record, which sum is a field of, its checksum: that of its JSON without spaces, where sum is empty. text
// is the record as it is to lie there.
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

// SumOfRecord is the checksum of a record as it lies there, in which sum stands: what a later version has written
// beside the rest is in it too. It is empty of what is no record.
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

// check compares a file with the record; all of its bytes come from a reader.
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
