package dataset

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// Powers of ten that are exact as float64.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat is strconv.ParseFloat(string(b), 32), faster for plain decimals: digits that fit 53 bits, times or over a
// power of ten that is exact, are rounded once (Clinger, "How to read floating point numbers accurately", 1990).
func parseFloat(b []byte) (float32, bool) {
	digits, point, n := uint64(0), -1, 0
	i := 0
	if i < len(b) && (b[0] == '-' || b[0] == '+') {
		i++
	}
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '.' && point < 0:
			point = n
		case c >= '0' && c <= '9' && n < 19:
			digits = digits*10 + uint64(c-'0')
			n++
		default:
			return parseFloatSlow(b)
		}
	}
	if point < 0 {
		point = n
	}
	if n == 0 || digits >= 1<<53 || n-point >= len(pow10) {
		return parseFloatSlow(b)
	}
	f := float64(digits) / pow10[n-point]
	if !roundsTwiceAlike(f) {
		return parseFloatSlow(b)
	}
	if b[0] == '-' {
		f = -f
	}
	return float32(f), true
}

// roundsTwiceAlike reports whether rounding to float64 and then to float32 gives what rounding once gives: f must not
// lie in the middle between two float32, nor beyond their normal range.
func roundsTwiceAlike(f float64) bool {
	if f == 0 {
		return true
	}
	const dropped = 52 - 23
	return math.Float64bits(f)&(1<<dropped-1) != 1<<(dropped-1) && f >= 0x1p-126 && f < 0x1p127
}

// parseFloatSlow accepts what strconv accepts, except words for infinity or not-a-number, hexadecimals and underscores.
func parseFloatSlow(b []byte) (float32, bool) {
	if !isDecimal(b) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 32)
	return float32(f), err == nil
}

// isDecimal reports whether text has only characters of decimals.
func isDecimal(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}

// want describes a number of the kind, for a text that is none.
func (k kind) want(text []byte) string {
	switch k {
	case floatKind:
		if _, err := strconv.ParseFloat(string(text), 32); errors.Is(err, strconv.ErrRange) && isDecimal(text) {
			return wantFloat32
		}
		return "a number"
	case idKind:
		return "an id, from 0 to 18446744073709551615"
	}
	if _, wide := parseID(text); wide {
		return "an integer in the range of int64, below 9223372036854775808 (a column made with dataset.IDs takes " +
			"larger ids)"
	}
	if _, err := strconv.ParseInt(string(text), 10, 64); errors.Is(err, strconv.ErrRange) {
		return "an integer in the range of int64, from -9223372036854775808 to 9223372036854775807"
	}
	return "an integer"
}

// wantFloat32 describes a number that is in the range of float32.
const wantFloat32 = "a number in the range of float32, at most 3.4028235e+38 in size"

// parseID is strconv.ParseUint(string(b), 10, 64), but also accepts a plus sign.
func parseID(b []byte) (uint64, bool) {
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	return parseDigits(b)
}

// parseInt is strconv.ParseInt(string(b), 10, 64).
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || b[0] != '-' {
		n, ok := parseID(b)
		return int64(n), ok && n <= math.MaxInt64
	}
	n, ok := parseDigits(b[1:])
	return -int64(n), ok && n <= -math.MinInt64
}

// parseDigits is the number below 2⁶⁴ that decimal digits make.
func parseDigits(b []byte) (n uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	rest := b
	for ; len(rest) >= 8 && len(b)-len(rest) < 16; rest = rest[8:] {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(rest))
		if !ok {
			return 0, false
		}
		n = n*100_000_000 + eight
	}
	for _, c := range rest {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// eightDigits is the number that eight digits make, of which the first is the lowest byte: neighbours become numbers of
// two digits, these of four, and these of eight.
func eightDigits(v uint64) (uint64, bool) {
	const low, all = 0x0f0f0f0f0f0f0f0f, 0x3030303030303030
	if v&^low != all || (v+0x0606060606060606)&^low != all {
		return 0, false
	}
	v = v & low * 2561 >> 8 // 10<<8 + 1
	v = v & 0x00ff00ff00ff00ff * 6553601 >> 16
	return v & 0x0000ffff0000ffff * 42949672960001 >> 32, true
}
