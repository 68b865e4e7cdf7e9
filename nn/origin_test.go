package nn

import "regexp"

// origins are the files and lines of tests in errors.
var origins = regexp.MustCompile(` \([a-z]+_test\.go:\d+\)`)

// unplaced is an error without the places where nodes were made; "" is no error.
func unplaced(err error) string {
	if err == nil {
		return ""
	}
	return origins.ReplaceAllString(err.Error(), "")
}
