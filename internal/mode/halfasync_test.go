package mode

import (
	"fmt"
	"iter"
	"strings"
	"testing"
)

// TestMeetingScript plays testdata/half_async.meeting.
func TestMeetingScript(t *testing.T) {
	scripts(t, "half_async.meeting", func(t *testing.T, lines iter.Seq[line]) {
		var m Meeting
		for l := range lines {
			var push []int
			switch l.words[0] {
			case "open":
				for range number(t, l.words[1]) {
					m.Open()
				}
			case "deliver":
				push = m.Deliver(number(t, l.words[1]))
			case "alone":
				push = m.DeliverAlone(number(t, l.words[1]))
			case "close":
				push = m.Close(number(t, l.words[1]))
			case "pushed":
				push = m.Pushed()
			default:
				l.unknown(t)
			}
			got := ""
			if len(push) > 0 {
				got = "push " + strings.Trim(fmt.Sprint(push), "[]")
			}
			l.check(t, got)
		}
	})
}
