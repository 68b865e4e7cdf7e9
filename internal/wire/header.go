package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Op is the kind of a request.
type Op uint8

// The requests a server answers. A reply repeats the op of its request.
const (
	OpHello     Op = iota + 1 // are you ready, and do we build the same model?
	OpJoin                    // server 0: begin a life as worker i
	OpPublish                 // initial values, set if absent
	OpStep                    // push and pull of one training step
	OpPeek                    // pull for evaluation: creates no rows
	OpPark                    // no more batches in this epoch
	OpLeave                   // no more steps at all
	OpHeartbeat               // still here
	OpGather                  // server 0: the blobs of all workers, once all have sent theirs
	OpScan                    // a page of a table's rows
	OpFence                   // between servers: a worker is dead, which of its pushes do you have?
	OpDrop                    // between servers: take a dead worker out
	// a part of a step that is too large for one frame: kept until its last piece comes as OpStep
	OpPiece
	// server 0, between servers: the sums of squares of a round's gradient, once all have sent theirs
	OpNorms
	OpKeep   // server 0: the frozen dense values of the worker that saves, for its cut
	OpBring  // server 0: a checkpoint's, for a worker that joins
	OpRate   // lowest worker: the factor on learning rates from the round on; any: reads it
	OpSaver  // server 0: does this worker save the job's checkpoints?
	OpReport // between servers: a sign of life, with generation and process
	OpServe  // in a cut that is read: sets the chain of the models for serving that were saved
	OpCut    // server 0: a worker's cut through all servers, and its progress
	OpOrder  // from server 0 to servers: hold pushes for a cut, do its work, release them
	OpRead   // readers outside the job: rows between two updates
	OpBegin  // server 0: a worker's program has begun an epoch
	OpEpoch  // server 0: where a worker is in the job's epochs, and what it does next
	opEnd
)

var opNames = [...]string{
	OpHello:     "hello",
	OpJoin:      "join",
	OpPublish:   "publish",
	OpStep:      "step",
	OpPeek:      "peek",
	OpPark:      "park",
	OpLeave:     "leave",
	OpHeartbeat: "heartbeat",
	OpGather:    "gather",
	OpScan:      "scan",
	OpFence:     "fence",
	OpDrop:      "drop",
	OpPiece:     "piece",
	OpNorms:     "norms",
	OpKeep:      "keep",
	OpBring:     "bring",
	OpRate:      "rate",
	OpSaver:     "saver",
	OpReport:    "report",
	OpServe:     "serve",
	OpCut:       "cut",
	OpOrder:     "order",
	OpRead:      "read",
	OpBegin:     "begin",
	OpEpoch:     "epoch",
}

func (o Op) String() string {
	if o > 0 && o < opEnd {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// check refuses an unknown op.
func (o Op) check() error {
	if o == 0 || o >= opEnd {
		return fmt.Errorf("wire: unknown op %d: %w", uint8(o), ErrFrame)
	}
	return nil
}

// Header is the fixed part of a frame; the package's doc describes each field.
//
// Worker, Life and Seq together identify a push for ever: a repeated frame has the same three. Job keeps out frames of
// other jobs before anything else in them is used; a worker that joins sends its whole fingerprint instead, so that the
// refusal can name the difference.
type Header struct {
	Op      Op
	Status  uint8
	Job     uint64
	Worker  uint32
	Life    uint32
	Seq     uint64
	Round   uint64
	Acked   uint64
	Version uint64
	Samples uint32
	// ServerLife is the life of the server: in a request, the highest that the sender knows of its receiver; in an
	// answer, that of the sender. It is a part of the head if it is not 0.
	ServerLife uint32
}

// Asked, as a heartbeat's seq, reports that the worker was asked to end.
const Asked = 1

// NoDense, as a request's version, asks for no dense weights.
const NoDense = math.MaxUint64

const (
	headerSize = 64
	sumAt      = headerSize - 4
	magic      = 0x316c6667 // "gfl1"
	version    = 6
)

var (
	// ErrFrame means that bytes are not a frame of this protocol.
	ErrFrame = errors.New("not a frame of this protocol")
	// ErrVersion means that the other side has another version of the protocol.
	ErrVersion = errors.New("other version of the protocol")
	// ErrUnknown means that a frame has something that this build does not know and must not skip.
	ErrUnknown = errors.New("of a later build")
	// ErrDamaged means that a frame was changed on its way; nothing in it was executed, and it may be sent again.
	ErrDamaged = errors.New("frame damaged on its way")
)

// append appends a header without the checksum at its end.
func (h *Header) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, magic)
	b = append(b, version, byte(h.Op), h.Status, byte(len(h.parts(nil))/partUnit))
	b = le.AppendUint64(b, h.Job)
	b = le.AppendUint32(b, h.Worker)
	b = le.AppendUint32(b, h.Life)
	b = le.AppendUint64(b, h.Seq)
	b = le.AppendUint64(b, h.Round)
	b = le.AppendUint64(b, h.Acked)
	b = le.AppendUint64(b, h.Version)
	return le.AppendUint32(b, h.Samples)
}

// ParseHeader reads the header of a frame, of which nothing more need be received. Only Parse can check that it was not
// damaged.
func ParseHeader(b []byte) (h Header, err error) {
	if err = h.parse(b); err == nil {
		err = h.Op.check()
	}
	return h, err
}

// parse reads a header of this build's version.
func (h *Header) parse(b []byte) error {
	le := binary.LittleEndian
	switch {
	case len(b) < headerSize:
		return fmt.Errorf("wire: %d bytes, a header has %d: %w", len(b), headerSize, ErrFrame)
	case le.Uint32(b) != magic:
		return fmt.Errorf("wire: magic %08x: %w", le.Uint32(b), ErrFrame)
	case b[4] != version:
		return &OtherVersion{b[4]}
	}
	*h = Header{
		Op: Op(b[5]), Status: b[6], Job: le.Uint64(b[8:]),
		Worker: le.Uint32(b[16:]), Life: le.Uint32(b[20:]), Seq: le.Uint64(b[24:]), Round: le.Uint64(b[32:]),
		Acked: le.Uint64(b[40:]), Version: le.Uint64(b[48:]), Samples: le.Uint32(b[56:]),
	}
	return nil
}
