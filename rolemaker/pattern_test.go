package rolemaker

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for pattern, want := range map[string]string{
		"ps-0.ps:36000":          "ps-0.ps:36000",
		"ps-{0..2}.ps:36000":     "ps-0.ps:36000 ps-1.ps:36000 ps-2.ps:36000",
		"n{08..11}":              "n08 n09 n10 n11",
		"{1..2}-{3..4}":          "1-3 1-4 2-3 2-4",
		"h:{7000..7001}":         "h:7000 h:7001",
		"[fd00::{1..2}]:36000":   "[fd00::1]:36000 [fd00::2]:36000",
		"r{0..1}n{000..001}.lan": "r0n000.lan r0n001.lan r1n000.lan r1n001.lan",
		"x{5..5}y":               "x5y",
	} {
		if got, err := expand(pattern); err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s is %v, error %v", pattern, got, err)
		}
	}
	for pattern, want := range map[string]string{
		"ps-{0..2.ps": "invalid pattern", "ps-{0,1}": "invalid pattern", "ps-{2..0}": "invalid pattern", "ps-{-1..2}": "invalid pattern", "{}": "invalid pattern",
		"{0..99999}": "more than 16384", "{0..999}{0..999}": "more than 16384", "a{0..1}b{x}": "invalid pattern",
	} {
		if got, err := expand(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, error %v", pattern, len(got), err)
		}
	}
}

// TestMembers: a list, a pattern or a number, with the port that entries leave out.
func TestMembers(t *testing.T) {
	for value, want := range map[string]string{
		"a:1, b:2":             "a:1 b:2",
		"ps-{0..1}.ps":         "ps-0.ps:36000 ps-1.ps:36000",
		"fd00::1,[fd00::2]":    "[fd00::1]:36000 [fd00::2]:36000",
		"[fd00::1]:7,10.0.0.5": "[fd00::1]:7 10.0.0.5:36000",
		"unix:/run/s":          "unix:/run/s",
		"3":                    "",
	} {
		n, list, err := env(lookup("X", value)).members("X")
		if err != nil || strings.Join(list, " ") != want || value == "3" && n != 3 || value != "3" && n != len(list) {
			t.Errorf("%s is %d, %v, error %v", value, n, list, err)
		}
	}
	for value, want := range map[string]string{"-1": "it can be 0 to", "20000": "it can be 0 to", "a:1,": `endpoint ""`, "a:0": `port "0"`, "a:1,a:1": "twice",
		"fd00::1:36000x": "is not", "a-{1..": "invalid pattern"} {
		if _, list, err := env(lookup("X", value)).members("X"); err == nil || !strings.Contains(err.Error(), "X") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, error %v", value, list, err)
		}
	}
}
