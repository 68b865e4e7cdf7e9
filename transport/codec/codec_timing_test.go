package codec_test

import (
	"testing"

	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/codec/codectest"
)

// BenchmarkCodec reports, besides the speed, what is left of each kind of message.
func BenchmarkCodec(b *testing.B) {
	messages := codectest.Messages()
	for _, name := range codec.Names() {
		for _, kind := range []string{"gradients", "ids", "zeros"} {
			c, message := build(b, name), messages[kind]
			small := c.Encode(nil, message)
			b.Run(name+"/encode/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(message)))
				dst := make([]byte, 0, 2*len(message))
				for b.Loop() {
					c.Encode(dst, message)
				}
				b.ReportMetric(float64(len(small))/float64(len(message)), "left")
			})
			b.Run(name+"/decode/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(message)))
				dst := make([]byte, 0, 2*len(message))
				for b.Loop() {
					if _, err := c.Decode(dst, small, len(message)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
