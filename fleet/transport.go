package fleet

import (
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// controlRoom is what messages may have beyond a frame of the job: some say which params there are, which norms or
// which files.
const controlRoom = 16 << 20

// compressed is a transport, nil for that of the environment, with the strategy's compression. It takes no message that
// is larger than the job's, so that no sender can announce more, or send what decodes to more.
func compressed(t transport.Transport, j *job) (transport.Transport, error) {
	c, err := codec.ByName(j.strategy.Codec)
	if err != nil {
		return nil, err
	}
	most := j.strategy.WithDefaults().MaxFrame + controlRoom
	if t == nil {
		fast, err := transport.FromEnv()
		if err != nil {
			return nil, err
		}
		fast.Logger = j.log
		fast.MaxMessage = most + 4<<10 // the envelope of Compressed
		fast.MaxConns = max(8192, 64*j.id.Workers)
		t = fast
	}
	return transport.Compressed(t, c, most), nil
}
