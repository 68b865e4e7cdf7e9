package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Op says what a frame asks for.
type Op uint8

// The requests a server answers. A reply repeats the op of its request.
const (
	OpHello     Op = iota + 1 // are you ready, and do we build the same model?
	OpJoin                    // server 0: begin a life as worker i
	OpPublish                 // initial values, set if absent
	OpStep                    // push and pull of one training step
	OpPeek                    // pull for evaluation: nothing is born
	OpPark                    // no more batches in this epoch
	OpLeave                   // no more steps at all
	OpHeartbeat               // still here
	OpGather                  // server 0: everybody's blob, once all have sent theirs
	OpFreeze                  // of builds whose workers led cuts, as the next two
	OpSave
	OpCommit
	OpScan  // a page of a table's rows
	OpFence // between servers: a worker is dead, what do you have of it?
	OpDrop  // between servers: forget what is beyond
	// part of a step that is too large for one frame: kept until its last piece comes as OpStep
	OpPiece
	// server 0, between servers: the sums of squares of a round's gradient, once all have sent theirs
	OpNorms
	OpKeep   // server 0: the frozen dense values of the worker that saves, for its cut
	OpBring  // server 0: a checkpoint's, for a worker that joins
	OpRate   // worker 0: the factor on learning rates from the round on; any: which it is
	OpSaver  // server 0: is it this worker that saves the job's checkpoints?
	OpPlace  // of those builds
	OpReport // between servers: here I am, of this generation; are you still there, and the same?
	OpLoad   // of those builds
	OpPart   // of those builds
	OpServe  // in a cut that is read: the models for serving that were saved are doubted, or are not
	OpBatch  // of those builds
	OpCut    // server 0: a worker's cut through all servers, and how far it is
	OpOrder  // from server 0 to servers: hold pushes for a cut, do its work, let them go on
	OpRead   // of readers outside the job: rows as they are
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
	OpFreeze:    "freeze",
	OpSave:      "save",
	OpCommit:    "commit",
	OpScan:      "scan",
	OpFence:     "fence",
	OpDrop:      "drop",
	OpPiece:     "piece",
	OpNorms:     "norms",
	OpKeep:      "keep",
	OpBring:     "bring",
	OpRate:      "rate",
	OpSaver:     "saver",
	OpPlace:     "place",
	OpReport:    "report",
	OpLoad:      "load",
	OpPart:      "part",
	OpServe:     "serve",
	OpBatch:     "batch",
	OpCut:       "cut",
	OpOrder:     "order",
	OpRead:      "read",
}

func (o Op) String() string {
	if o > 0 && o < opEnd {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// check refuses what is no op.
func (o Op) check() error {
	if o == 0 || o >= opEnd {
		return fmt.Errorf("wire: unknown op %d: %w", uint8(o), ErrFrame)
	}
	return nil
}

// Header is the fixed part of a frame; the package's doc says what each field means.
//
// Worker, Life and Seq together name a push for ever: a frame that comes again has the same three, however often it was
// carried. Job keeps out frames of other jobs before anything else of them is looked at; a worker that joins shows its
// whole fingerprint instead, so that it can be told what differs.
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
	// ServerLife is the life of the server: the highest that the sender of a request knows of the one which it asks,
	// and of the one that answers. It is a part of the head where it is not 0.
	ServerLife uint32
}

// Asked as a heartbeat's seq says that the worker was asked to end.
const Asked = 1

// NoDense as a request's version says that the dense weights are not wanted.
const NoDense = math.MaxUint64

const (
	headerSize = 64
	sumAt      = headerSize - 4
	magic      = 0x316c6667 // "gfl1"
	version    = 3
	// versionBefore is that of journals of builds before 0.1.0: the same but for parts, which their frames don't have.
	versionBefore = 2
)

var (
	// ErrFrame says that bytes are not a frame of this protocol.
	ErrFrame = errors.New("not a frame of this protocol")
	// ErrVersion says that the other side speaks another version of the protocol.
	ErrVersion = errors.New("other version of the protocol")
	// ErrUnknown says that a frame has something that this build does not know and must not skip.
	ErrUnknown = errors.New("of a later build")
	// ErrDamaged says that a frame is not as it was sent; nothing was done that it asks for, and it may be sent again.
	ErrDamaged = errors.New("frame damaged on its way")
)

// append appends a header of a version, but for the checksum at its end.
func (h *Header) append(b []byte, version byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, magic)
	b = append(b, version, byte(h.Op), h.Status, byte(len(h.parts(nil, version))/partUnit))
	b = le.AppendUint64(b, h.Job)
	b = le.AppendUint32(b, h.Worker)
	b = le.AppendUint32(b, h.Life)
	b = le.AppendUint64(b, h.Seq)
	b = le.AppendUint64(b, h.Round)
	b = le.AppendUint64(b, h.Acked)
	b = le.AppendUint64(b, h.Version)
	return le.AppendUint32(b, h.Samples)
}

// ParseHeader reads how a frame begins, of which nothing more need be there. Whether it is as it was sent only Parse
// can tell.
func ParseHeader(b []byte) (h Header, err error) {
	if err = h.parse(b, version); err == nil {
		err = h.Op.check()
	}
	return h, err
}

// parse reads a header of this build's version, or of one from oldest on.
func (h *Header) parse(b []byte, oldest byte) error {
	le := binary.LittleEndian
	switch {
	case len(b) < headerSize:
		return fmt.Errorf("wire: %d bytes, a header has %d: %w", len(b), headerSize, ErrFrame)
	case le.Uint32(b) != magic:
		return fmt.Errorf("wire: magic %08x: %w", le.Uint32(b), ErrFrame)
	case b[4] < oldest || b[4] > version:
		return &OtherVersion{b[4]}
	}
	*h = Header{
		Op: Op(b[5]), Status: b[6], Job: le.Uint64(b[8:]),
		Worker: le.Uint32(b[16:]), Life: le.Uint32(b[20:]), Seq: le.Uint64(b[24:]), Round: le.Uint64(b[32:]),
		Acked: le.Uint64(b[40:]), Version: le.Uint64(b[48:]), Samples: le.Uint32(b[56:]),
	}
	return nil
}
