package codectest_test

import (
	"testing"

	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/codec/codectest"
)

// A codec is given the messages of a job, damaged and too long ones too. In a test of one's own:
func ExampleRun() {
	var t *testing.T // of func TestMyCodec(t *testing.T)
	codectest.Run(t, func() codec.Codec {
		c, err := codec.ByName("s2")
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
