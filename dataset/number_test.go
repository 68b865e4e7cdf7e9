package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// sameFloat holds parseFloat to strconv, but for the words and forms that data files don't mean.
func sameFloat(t *testing.T, text string) {
	t.Helper()
	got, ok := parseFloat([]byte(text))
	want, err := strconv.ParseFloat(text, 32)
	plain := strings.Trim(text, "0123456789.+-eE") == ""
	if ok != (err == nil && plain) || ok && math.Float32bits(got) != math.Float32bits(float32(want)) {
		t.Errorf("parseFloat(%q) = %v, %v; strconv: %v, %v", text, got, ok, float32(want), err)
	}
}

func sameInt(t *testing.T, text string) {
	t.Helper()
	got, ok := parseInt([]byte(text))
	want, err := strconv.ParseInt(text, 10, 64)
	if ok != (err == nil) || ok && got != want {
		t.Errorf("parseInt(%q) = %v, %v; strconv: %v, %v", text, got, ok, want, err)
	}
	id, ok := parseID([]byte(text))
	wide, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
	if ok != (err == nil) || ok && id != wide {
		t.Errorf("parseID(%q) = %v, %v; strconv: %v, %v", text, id, ok, wide, err)
	}
}

func TestNumbersAreThoseOfStrconv(t *testing.T) {
	law.Slow(t)
	for _, text := range []string{
		"", "-", "+", ".", "-.", "0", "-0", "+0", "00", "1", "-1", "+1", "1.", ".5", "-.5", "1.5.", "1..5", "--1", "1-", " 1", "1 ", "1e", "1e5", "1E-5", "1e+38", "1e39",
		"0.1", "0.00497512437811", "3.4028235e38", "340282346638528859811704183484516925440", "3.5e38", "1e-45", "1e-46", "0.00000000000000000000000000000000000001",
		"16777217", "16777217.0", "16777219", "1.00000005960464477539", "1.000000059604644775390625", "1.00000005960464477539062500001", "1.00000017881393432617",
		"9007199254740993", "9007199254740991", "123456789012345678", "1234567890123456789", "12345678901234567890", "0.1234567890123456789012",
		"inf", "NaN", "Infinity", "0x10", "1_000", "1e5x", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"999999999999999999", "000000000000000000000000001", "١", "18446744073709551615", "18446744073709551616", "99999999999999999999", "1234567/", "1234567:",
	} {
		sameFloat(t, text)
		sameInt(t, text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		// Decimals of every length, and those in the middle between two float32, where rounding twice would go wrong.
		digits := random.IntN(19)
		sameFloat(t, strconv.FormatFloat(float64(math.Float32frombits(random.Uint32())), 'f', digits, 64))
		x := math.Float32frombits(random.Uint32()&0x1fffffff | 0x30000000)
		middle := (float64(x) + float64(math.Nextafter32(x, 1e9))) / 2
		sameFloat(t, strconv.FormatFloat(middle, 'f', -1, 64))
		sameFloat(t, fmt.Sprintf("%.*f", digits, middle))
		sameInt(t, strconv.FormatInt(int64(random.Uint64())>>random.IntN(64), 10))
		id := []byte(strconv.FormatUint(random.Uint64()>>random.IntN(64), 10))
		sameInt(t, string(id))
		id[random.IntN(len(id))] = byte(random.Uint32())
		sameInt(t, string(id))
	}
}

func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"1.5", "-3", "1e5", "", "+.", "0.00497512437811", "16777217.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sameFloat(t, text)
		sameInt(t, text)
	})
}

func BenchmarkParseID(b *testing.B) {
	for _, text := range []string{"7", "123456", "1234567890", "11400714819323198485"} {
		b.Run(text, func(b *testing.B) {
			bytes := []byte(text)
			for b.Loop() {
				parseID(bytes)
			}
		})
	}
}

func BenchmarkParseFloat(b *testing.B) {
	for _, text := range []string{"123", "0.05", "0.00497512437811"} {
		b.Run("gofleet/"+text, func(b *testing.B) {
			bytes := []byte(text)
			for b.Loop() {
				parseFloat(bytes)
			}
		})
		b.Run("strconv/"+text, func(b *testing.B) {
			bytes := []byte(text)
			for b.Loop() {
				strconv.ParseFloat(string(bytes), 32)
			}
		})
	}
}
