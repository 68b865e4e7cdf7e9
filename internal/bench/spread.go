package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// spread is the median of a figure over so many rounds, with the least and the most.
type spread struct {
	Rounds              int
	Median, Least, Most float64
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{n, (v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}

// String is the median, and in brackets the least and the most where they differ.
func (s spread) String() string {
	if s.Rounds == 0 {
		return "–"
	}
	if short(s.Least) == short(s.Most) {
		return short(s.Median)
	}
	return fmt.Sprintf("%s(%s–%s)", short(s.Median), short(s.Least), short(s.Most))
}

// short has three digits, or all before the point with commas; AUCs below 1 have four.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		digits := strconv.FormatFloat(math.Round(v), 'f', -1, 64)
		for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', 4, 64), "-", "−", 1)
}

// middle is the median alone.
func (s spread) middle() string { return spread{s.Rounds, s.Median, s.Median, s.Median}.String() }
