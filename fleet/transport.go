package fleet

import (
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// transport is the fleet's transport with the strategy's compression.
func (f *Fleet) transport(s strategy.Strategy) (transport.Transport, error) {
	c, err := codec.ByName(s.Codec)
	if err != nil {
		return nil, err
	}
	t := f.options.Transport
	if t == nil {
		fast, err := transport.FromEnv()
		if err != nil {
			return nil, err
		}
		fast.Logger = f.log
		t = fast
	}
	return transport.Compressed(t, c, 0), nil
}
