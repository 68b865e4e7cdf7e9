package mode

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMeetingScript plays testdata/half_async.meeting.
func TestMeetingScript(t *testing.T) {
	f, err := os.Open("testdata/half_async.meeting")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m Meeting
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, want, _ := strings.Cut(lines.Text(), " -> ")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		var push []int
		switch words[0] {
		case "open":
			for range number(t, words[1]) {
				m.Open()
			}
		case "deliver":
			push = m.Deliver(number(t, words[1]))
		case "alone":
			push = m.DeliverAlone(number(t, words[1]))
		case "close":
			push = m.Close(number(t, words[1]))
		case "pushed":
			push = m.Pushed()
		default:
			t.Fatalf("line %d: %q", n, line)
		}
		got := ""
		if len(push) > 0 {
			got = "push " + strings.Trim(fmt.Sprint(push), "[]")
		}
		if got != want {
			t.Fatalf("line %d: %s: got %q, want %q", n, line, got, want)
		}
	}
}
