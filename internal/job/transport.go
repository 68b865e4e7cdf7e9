package job

import (
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// controlRoom is the room in a message beyond a frame of the job: some messages list params, norms or files.
const controlRoom = 16 << 20

// compressed returns the job's transport, or the environment's, with the strategy's compression. It refuses messages
// larger than the job's, so that no sender can announce more, or send data that decode to more.
func (j *Job) compressed() (transport.Transport, error) {
	t := j.Transport
	c, err := codec.ByName(j.Strategy.Codec)
	if err != nil {
		return nil, err
	}
	most := j.Strategy.WithDefaults().MaxFrame + controlRoom
	if t == nil {
		fast, err := transport.FromEnv()
		if err != nil {
			return nil, err
		}
		fast.Logger = j.Log
		fast.MaxMessage = most + 4<<10 // for the envelope of Compressed
		fast.MaxConns = max(8192, 64*j.ID.Workers)
		t = fast
	}
	return transport.Compressed(t, c, most), nil
}
