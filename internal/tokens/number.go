package tokens

import (
	"math"
	"strconv"
	"strings"
)

// AppendNumber appends a number in one form: 3, +3, 3.0 and 3e0 become "3". Different integers have different forms,
// of any size; other numbers have that of their float64. A text that is not a number, or is beyond the range of
// float64, is appended unchanged.
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
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.AppendFloat(b, x+0, 'f', -1, 64) // turns -0 into 0
	}
	float := strconv.FormatFloat(x, 'g', -1, 64)
	if exact, whole := integer(s); whole {
		_, narrow := strconv.ParseInt(exact, 10, 64)
		_, wide := strconv.ParseUint(exact, 10, 64)
		if nearest, _ := integer(float); narrow == nil || wide == nil || exact != nearest {
			return append(b, exact...)
		}
	}
	return append(b, float...)
}

// integer returns the digits of a decimal number other than 0 that is whole, such as 1.5e3.
func integer(s string) (digits string, whole bool) {
	s, negative := strings.CutPrefix(strings.ToLower(s), "-")
	mantissa, exponent, _ := strings.Cut(s, "e")
	before, after, _ := strings.Cut(mantissa, ".")
	digits = before + after
	e, _ := strconv.Atoi(exponent)
	if e -= len(after); e >= 0 {
		digits += strings.Repeat("0", e)
	} else {
		end := max(len(digits)+e, 0)
		if strings.Trim(digits[end:], "0") != "" {
			return "", false
		}
		digits = digits[:end]
	}
	if digits = strings.TrimLeft(digits, "0"); negative {
		digits = "-" + digits
	}
	return digits, true
}
