package collective

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
)

// A request is a header of 88 bytes, little-endian, and a body:
//
//	 0  u32  magic "gfc1"
//	 4  u8   version (3)
//	 5  u8   verb
//	 6  u8   op
//	 7  u8   element
//	 8  u64  generation; in a join the sender's life
//	16  u64  number of the collective
//	24  u64  elements of the bucket
//	32  u32  elements of a chunk
//	36  u32  rank of the sender
//	40  u32  number of ranks
//	44  u32  chunk of the receiver's segment
//	48  u32  weight of the sender's part
//	52  u32  1 if the sender has ended its epoch
//	56  u32  root of a broadcast
//	60  u32  1 if the sender has news
//	64  u64  samples of its epoch that the sender has trained on, with its part
//	72  u32  that epoch
//	76  u16  the thread that has, and u16 of how many; 0 for no position
//	80  u64  steps that the thread has made in the job
//
// The body of the first chunk for rank 0 may have the frozen values of that position behind the part.
//
// An answer is a header of 32 bytes and a body, which is an error's text if the status is not 0:
//
//	 0  u32  magic "gfc1"
//	 4  u8   version (3)
//	 5  u8   status
//	 6  u16  zero
//	 8  u64  number of the collective that the rank is at; in a join its life; in a gather the bytes of the whole part
//	16  u64  weights of all ranks together
//	24  u32  ranks that have ended their epoch
//	28  u32  zero
const (
	magic       = 0x31636667
	version     = 3
	requestSize = 88
	answerSize  = 32
)

type verb uint8

const (
	verbJoin  verb = iota + 1 // announces a rank
	verbPart                  // carries a part; the answer is the result
	verbProbe                 // asks whether a rank lives
	verbAbort                 // reports that the sender has failed; the body is the reason
	verbBye                   // reports that the sender needs no more answers
)

type status uint8

const (
	statusOK status = iota
	statusRefused
	statusFailed // the rank had failed before; the text is its reason
)

// ErrMessage is the error of a message that is not of this group.
var ErrMessage = errors.New("collective: not a message of a group")

// request is the header of a request.
type request struct {
	verb       verb
	what       what
	generation uint64
	rank       int
	ranks      int
	chunk      int
	part       Part
}

// what describes a collective; it is equal on ranks that make the same calls.
type what struct {
	number  uint64
	op      Op
	element element
	length  int // of the bucket, in elements
	cut     int // of a chunk, in elements
	root    int
}

func (r *request) bytes() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(make([]byte, 0, requestSize), magic)
	b = append(b, version, byte(r.verb), byte(r.what.op), byte(r.what.element))
	b = le.AppendUint64(b, r.generation)
	b = le.AppendUint64(b, r.what.number)
	b = le.AppendUint64(b, uint64(r.what.length))
	for _, v := range []int{r.what.cut, r.rank, r.ranks, r.chunk, int(r.part.Weight), int(flag(r.part.Ended)),
		r.what.root, int(flag(r.part.News))} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = le.AppendUint64(b, r.part.At.Samples)
	b = le.AppendUint32(b, r.part.At.Epoch)
	b = le.AppendUint16(b, r.part.At.Thread)
	b = le.AppendUint16(b, r.part.At.Threads)
	return le.AppendUint64(b, r.part.At.Steps)
}

func (r *request) parse(b []byte) (body []byte, err error) {
	if err := checkHead(b, requestSize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	u32 := func(at int) int { return int(le.Uint32(b[at:])) }
	*r = request{
		verb: verb(b[5]), generation: le.Uint64(b[8:]), rank: u32(36), ranks: u32(40), chunk: u32(44),
		part: Part{Weight: uint32(u32(48)), Ended: u32(52) != 0, News: u32(60) != 0, At: progress.Position{
			Samples: le.Uint64(b[64:]), Epoch: le.Uint32(b[72:]), Thread: le.Uint16(b[76:]), Threads: le.Uint16(b[78:]),
			Steps: le.Uint64(b[80:])}},
		what: what{op: Op(b[6]), element: element(b[7]), number: le.Uint64(b[16:]), length: int(le.Uint64(b[24:])),
			cut: u32(32), root: u32(56)},
	}
	return b[requestSize:], nil
}

// answer is the header of an answer.
type answer struct {
	status status
	number uint64
	weight uint64
	ended  int
}

func (a *answer) bytes() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(make([]byte, 0, answerSize), magic)
	b = append(b, version, byte(a.status), 0, 0)
	b = le.AppendUint64(b, a.number)
	b = le.AppendUint64(b, a.weight)
	b = le.AppendUint32(b, uint32(a.ended))
	return le.AppendUint32(b, 0)
}

func (a *answer) parse(b []byte) (body []byte, err error) {
	if err := checkHead(b, answerSize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	*a = answer{status: status(b[5]), number: le.Uint64(b[8:]), weight: le.Uint64(b[16:]),
		ended: int(le.Uint32(b[24:]))}
	return b[answerSize:], nil
}

func checkHead(b []byte, size int) error {
	switch {
	case len(b) < size:
		return fmt.Errorf("%w: %d bytes, a header has %d", ErrMessage, len(b), size)
	case binary.LittleEndian.Uint32(b) != magic:
		return fmt.Errorf("%w: it starts with % x", ErrMessage, b[:4])
	case b[4] != version:
		return fmt.Errorf("%w: version %d, this is %d", ErrMessage, b[4], version)
	}
	return nil
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// String describes the collective in errors: "all-reduce 17 (sum of 1000 float32)".
func (w what) String() string {
	switch w.op {
	case opGather:
		return fmt.Sprintf("all-gather %d", w.number)
	case opFirst:
		return fmt.Sprintf("broadcast %d (%d %v from rank %d)", w.number, w.length, w.element, w.root)
	}
	if w.length == 0 {
		return fmt.Sprintf("barrier %d", w.number)
	}
	return fmt.Sprintf("all-reduce %d (%v of %d %v)", w.number, w.op, w.length, w.element)
}
