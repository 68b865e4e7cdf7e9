package mode

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/script"
)

// TestMeetingScript plays testdata/half_async.meeting.
func TestMeetingScript(t *testing.T) {
	script.Play(t, "half_async.meeting", func(t *testing.T, lines iter.Seq[script.Line]) {
		var m Meeting
		for l := range lines {
			var push []int
			switch l.Words[0] {
			case "open":
				for range script.Number(t, l.Words[1]) {
					m.Open()
				}
			case "deliver":
				push = m.Deliver(script.Number(t, l.Words[1]))
			case "alone":
				push = m.DeliverAlone(script.Number(t, l.Words[1]))
			case "close":
				push = m.Close(script.Number(t, l.Words[1]))
			case "pushed":
				push = m.Pushed()
			default:
				l.Unknown(t)
			}
			got := ""
			if len(push) > 0 {
				got = "push " + strings.Trim(fmt.Sprint(push), "[]")
			}
			l.Check(t, got)
		}
	})
}
