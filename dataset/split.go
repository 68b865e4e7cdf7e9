package dataset

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// splitter divides lines into fields, in memory that it reuses.
type splitter struct {
	comma, quote byte
	trim         bool
	fields       [][]byte
	quoted       []byte // contents of quotes
}

// split returns the line's fields, valid until the next call.
func (s *splitter) split(line []byte) ([][]byte, error) {
	s.fields, s.quoted = s.fields[:0], s.quoted[:0]
	if !s.trim && bytes.IndexByte(line, s.quote) < 0 {
		s.splitPlain(line)
		return s.fields, nil
	}
	if cap(s.quoted) < len(line) {
		s.quoted = make([]byte, 0, len(line)) // fields point into it, so it must not move
	}
	for {
		line = s.skip(line)
		if len(line) > 0 && line[0] == s.quote {
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
			s.fields = append(s.fields, s.cut(line))
			return s.fields, nil
		}
		s.fields = append(s.fields, s.cut(line[:i]))
		line = line[i+1:]
	}
}

// splitPlain splits a line in which only separators are special. It searches eight bytes at once.
func (s *splitter) splitPlain(line []byte) {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	from, i, commas := 0, 0, uint64(s.comma)*ones
	for ; i+8 <= len(line); i += 8 {
		w := binary.LittleEndian.Uint64(line[i:]) ^ commas
		for found := ^((w&low + low) | w | low); found != 0; found &= found - 1 { // a bit for each byte of w that is 0
			at := i + bits.TrailingZeros64(found)/8
			s.fields = append(s.fields, line[from:at])
			from = at + 1
		}
	}
	for ; i < len(line); i++ {
		if line[i] == s.comma {
			s.fields = append(s.fields, line[from:i])
			from = i + 1
		}
	}
	s.fields = append(s.fields, line[from:])
}

// unquote returns the field whose opening quote is before text; rest begins with a comma or is empty.
func (s *splitter) unquote(text []byte) (field, rest []byte, err error) {
	start := len(s.quoted)
	whole := text
	for {
		i := bytes.IndexByte(text, s.quote)
		if i < 0 {
			return nil, nil, badField(s.number(), "a closing quote on the same line", whole)
		}
		s.quoted = append(s.quoted, text[:i]...)
		text = text[i+1:]
		if len(text) > 0 && text[0] == s.quote {
			s.quoted = append(s.quoted, s.quote)
			text = text[1:]
			continue
		}
		if text = s.skip(text); len(text) > 0 && text[0] != s.comma {
			return nil, nil, badField(s.number(), "the separator after a closing quote", text)
		}
		return s.quoted[start:len(s.quoted):len(s.quoted)], text, nil
	}
}

// open reports whether the line ends within quotes; was reports that it began within quotes.
func (s *splitter) open(line []byte, was bool) bool {
	for {
		if !was {
			if line = s.skip(line); len(line) == 0 || line[0] != s.quote {
				i := bytes.IndexByte(line, s.comma)
				if i < 0 {
					return false
				}
				line = line[i+1:]
				continue
			}
			line = line[1:]
		}
		i := bytes.IndexByte(line, s.quote)
		if i < 0 {
			return true
		}
		line = line[i+1:]
		if was = len(line) > 0 && line[0] == s.quote; was {
			line = line[1:] // a doubled quote: the field continues
			continue
		}
		i = bytes.IndexByte(line, s.comma)
		if i < 0 {
			return false
		}
		line = line[i+1:]
	}
}

// blank reports whether c is a blank that may be removed around a field.
func (s *splitter) blank(c byte) bool { return s.trim && (c == ' ' || c == '\t') && c != s.comma }

// skip returns the text after leading blanks.
func (s *splitter) skip(text []byte) []byte {
	for len(text) > 0 && s.blank(text[0]) {
		text = text[1:]
	}
	return text
}

// cut returns the text before trailing blanks.
func (s *splitter) cut(text []byte) []byte {
	for len(text) > 0 && s.blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// number is the number of the current field, from 1, for messages.
func (s *splitter) number() string { return strconv.Itoa(len(s.fields) + 1) }

// texts is a set of texts in which most other texts are rejected by their first byte.
type texts struct {
	all   map[string]bool
	first [256]bool // bytes with which they begin
}

func newTexts(more []string, one string) texts {
	t := texts{all: map[string]bool{}}
	for _, text := range append([]string{one}, more...) {
		if text != "" {
			t.all[text], t.first[text[0]] = true, true
		}
	}
	return t
}

// has reports whether text is in the set, or empty.
func (t *texts) has(text []byte) bool {
	return len(text) == 0 || t.first[text[0]] && t.all[string(text)]
}
