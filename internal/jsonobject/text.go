package jsonobject

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// textAt returns the string whose opening quote is at i, and where it ends; -1 if it is not valid.
func textAt(text []byte, i int) (v Value, end int) {
	from := i + 1
	v.Kind = Text
	for i = from; ; {
		if i = special(text, i); i >= len(text) {
			return v, -1
		}
		switch text[i] {
		case '"':
			v.Bytes = text[from:i]
			return v, i + 1
		case '\\':
			v.Kind = Escaped
			if i = escapeEnd(text, i); i < 0 {
				return v, -1
			}
		default:
			return v, -1 // a control character
		}
	}
}

const ones = 0x0101010101010101

// special returns the index of the first quote, backslash or control character from i on. It tests eight bytes at once.
func special(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & (0x80 * ones); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// escapeEnd returns where the escape at i ends; -1 if it is not valid.
func escapeEnd(text []byte, i int) int {
	if i+1 >= len(text) {
		return -1
	}
	switch text[i+1] {
	case 'b', 'f', 'n', 'r', 't', '"', '\\', '/':
		return i + 2
	case 'u':
		if hex4(text[i+2:]) >= 0 {
			return i + 6
		}
	}
	return -1
}

// hex4 returns the number of four hexadecimal digits, -1 if there are none.
func hex4(text []byte) rune {
	if len(text) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Unescape appends the characters of a valid string without its quotes. Bytes that are not UTF-8 become U+FFFD, and so
// does half a surrogate pair.
func Unescape(to, text []byte) []byte {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && text[i+1] == 'u':
			r := hex4(text[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				if pair := utf16.DecodeRune(r, unicodeAt(text, i)); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			to = utf8.AppendRune(to, r) // U+FFFD for half a pair
		case c == '\\':
			to = append(to, plain(text[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			to = append(to, c)
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			to = utf8.AppendRune(to, r)
			i += size
		}
	}
	return to
}

// unicodeAt returns the code of the escape at i, if it is one of four digits; else -1.
func unicodeAt(text []byte, i int) rune {
	if len(text) < i+6 || text[i] != '\\' || text[i+1] != 'u' {
		return -1
	}
	return hex4(text[i+2:])
}

// plain returns the character for c after a backslash.
func plain(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
