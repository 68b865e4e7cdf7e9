package categories

import (
	"math"
	"strconv"
	"strings"
)

// AppendNumber appends a number in one form: 3, +3, 3.0 and 3e0 become "3". A text that is not a number is appended
// unchanged.
func AppendNumber(b, text []byte) []byte {
	s := strings.TrimPrefix(string(text), "+")
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.AppendInt(b, i, 10)
	}
	if i, err := strconv.ParseUint(s, 10, 64); err == nil {
		return strconv.AppendUint(b, i, 10)
	}
	x, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || strings.Trim(s, "0123456789.eE+-") != "":
		return append(b, text...)
	case x == math.Trunc(x) && math.Abs(x) < 1<<63:
		return strconv.AppendFloat(b, x+0, 'f', -1, 64) // turns -0 into 0
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}
