package categories

import "testing"

// TestAppendNumber: a number is written one way, whatever the text, and what is none stays.
func TestAppendNumber(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "3.0": "3", "+3": "3", "3e0": "3", "0003": "3", "-0": "0", "-0.0": "0", "0.10": "0.1", "1e-7": "1e-07", "2.50": "2.5",
		"18446744073709551615": "18446744073709551615", "-9223372036854775808": "-9223372036854775808",
		"1.152921504606847e+18": "1152921504606847000", "1152921504606847000": "1152921504606847000", "1E300": "1e+300",
		"": "", "a": "a", "nan": "nan", "Inf": "Inf", "0x10": "0x10", "1_000": "1_000", "1e999": "1e999", "e": "e", "-": "-", " 3": " 3",
	} {
		if got := string(AppendNumber([]byte("x"), []byte(text))); got != "x"+want {
			t.Errorf("%q is %q, want %q", text, got[1:], want)
		}
	}
}
