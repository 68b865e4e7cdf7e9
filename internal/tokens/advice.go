package tokens

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// NAs are the texts that mean a missing value to pandas' read_csv, but for the empty one.
var NAs = []string{"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
	"NA", "NULL", "NaN", "None", "n/a", "nan", "null"}

// Dressed matches a number with a currency or percent sign, with thousands separated by commas or blanks, or with a
// comma for its decimal point.
var Dressed = regexp.MustCompile(`^[-+(]?((\p{Sc}|USD|EUR|GBP) ?)?[-+]?(\d{1,3}([,. \x{a0}']\d{3})+|\d+)([.,]\d+)?` +
	`[ \x{a0}]?(%|\p{Sc}|USD|EUR|GBP)?\)?$`)

// Undress is the advice about such numbers.
const Undress = "write 1234.5 for $1,234.50, 1.234,5 or 1 234.5"

// Advice is what reads a text that is in the place of a number, "" for a number.
func Advice(text string) string {
	_, err := strconv.ParseFloat(text, 64)
	if (err == nil || errors.Is(err, strconv.ErrRange)) && !strings.ContainsAny(text, "_xX") {
		return ""
	}
	_, layout := Date(text)
	_, coded := strconv.ParseInt(text, 0, 64)
	letter := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
	switch {
	case layout != "":
		return "a date: Derived makes numbers of it, with Layout " + strconv.Quote(layout)
	case strings.HasSuffix(text, "%"):
		return "write 0.12 for 12%"
	case Dressed.MatchString(text):
		return Undress
	case coded == nil:
		return "write 33 for 0x21 and 1000 for 1_000"
	case !strings.ContainsFunc(text, letter):
		return "if it means a missing value: NAs names it, and Missing has its number"
	}
	return "Values makes numbers of texts, and Hash ids"
}
