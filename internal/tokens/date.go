package tokens

import "time"

// Layouts are the layouts of dates. A date that fits several, such as 01/02/2006, has the first of these.
var Layouts = []string{time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", "2006/01/02", "2006/01/02 15:04:05", "01/02/2006", "01/02/2006 15:04", "02/01/2006",
	"02/01/2006 15:04", "02.01.2006", "02.01.2006 15:04", "1/2/2006", "1/2/2006 15:04", "1/2/2006 3:04 PM", "2/1/2006",
	"2/1/2006 15:04", "2.1.2006", "2.1.2006 15:04", "2 Jan 2006", "2-Jan-2006", "Jan 2, 2006", "January 2, 2006"}

// shortest is the length of the shortest date.
const shortest = len("1/2/2006")

// IsDate reports whether a text is a date in a layout.
func IsDate(text, layout string) bool {
	_, err := time.Parse(layout, text)
	return err == nil && len(text) >= shortest
}

// Date is the date that a text is, in the first layout that fits, and the layout, "" if it is none.
func Date(text string) (at time.Time, layout string) {
	if len(text) < shortest || len(text) > len("September 02, 2006 15:04:05+00:00") {
		return at, ""
	}
	for _, layout := range Layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, layout
		}
	}
	return at, ""
}
