package fleet

import (
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// controlRoom is the room in a message beyond a frame of the job: some messages list params, norms or files.
const controlRoom = 16 << 20

// compressed adds the strategy's compression to a transport; nil means the environment's. It refuses messages larger
// than the job's, so that no sender can announce more, or send data that decode to more.
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
		fast.MaxMessage = most + 4<<10 // for the envelope of Compressed
		fast.MaxConns = max(8192, 64*j.id.Workers)
		t = fast
	}
	return transport.Compressed(t, c, most), nil
}
