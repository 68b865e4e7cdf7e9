package dataset

import (
	"bytes"
	"strconv"
)

// splitter cuts a line into fields, again and again into the same memory.
type splitter struct {
	comma  byte
	fields [][]byte
	quoted []byte // what stood in quotes, without them
}

// split is the line's fields, valid until the next call.
func (s *splitter) split(line []byte) ([][]byte, error) {
	s.fields, s.quoted = s.fields[:0], s.quoted[:0]
	if cap(s.quoted) < len(line) {
		s.quoted = make([]byte, 0, len(line)) // fields point into it: it must not move
	}
	for {
		if len(line) > 0 && line[0] == '"' {
			field, rest, err := s.unquote(line[1:])
			if err != nil {
				return nil, err
			}
			s.fields = append(s.fields, field)
			if len(rest) == 0 {
				return s.fields, nil
			}
			line = rest[1:]
			continue
		}
		i := bytes.IndexByte(line, s.comma)
		if i < 0 {
			s.fields = append(s.fields, line)
			return s.fields, nil
		}
		s.fields = append(s.fields, line[:i])
		line = line[i+1:]
	}
}

// unquote is the field whose opening quote stands before text; rest begins with a comma or is empty.
func (s *splitter) unquote(text []byte) (field, rest []byte, err error) {
	start := len(s.quoted)
	whole := text
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return nil, nil, badField(s.number(), "a closing quote on the same line", whole)
		}
		s.quoted = append(s.quoted, text[:i]...)
		text = text[i+1:]
		if len(text) > 0 && text[0] == '"' {
			s.quoted = append(s.quoted, '"')
			text = text[1:]
			continue
		}
		if len(text) > 0 && text[0] != s.comma {
			return nil, nil, badField(s.number(), "the separator after a closing quote", text)
		}
		return s.quoted[start:len(s.quoted):len(s.quoted)], text, nil
	}
}

// number names the field that is being read, from 1.
func (s *splitter) number() string { return strconv.Itoa(len(s.fields) + 1) }
