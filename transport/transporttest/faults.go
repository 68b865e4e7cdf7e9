package transporttest

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Faults are the probabilities of faults: each field but MaxDelay and Latency is a probability from 0 to 1, tried for
// every call. The faults of the first group end a call with an error or without an answer. A call has at most one of
// them, so their probabilities should sum to 1 or less. The faults of the second group happen to the other calls.
type Faults struct {
	// Refuse fails at once, with transport.ErrUnreachable, as a closed port does.
	Refuse float64
	// LoseRequest fails at once, and the server has not seen the request. The caller cannot distinguish this from
	// LoseAnswer.
	LoseRequest float64
	// LoseAnswer fails after the server has answered. The caller sees the same error as for LoseRequest.
	LoseAnswer float64
	// Drop loses the request without an error: Call waits for the end of ctx.
	Drop float64
	// DropAnswer loses the answer without an error: the request is served, and Call waits for the end of ctx.
	DropAnswer float64
	// HalfOpen makes the endpoint accept this call, and all others that begin within MaxDelay, without serving or
	// answering them: they wait for the end of ctx. The other calls depend on time, not on the seed.
	HalfOpen float64

	// Delay holds a request back, up to MaxDelay.
	Delay float64
	// Reorder holds a request back until another call to the same endpoint has been answered, or for MaxDelay.
	Reorder float64
	// Duplicate makes the server receive a request twice in a row. The caller gets either answer.
	Duplicate float64
	// Late makes the server receive a request again before the next one to the same endpoint. The next request waits up
	// to MaxDelay for the answer to the late one, then is sent before it; the late answer is dropped. Late applies also
	// to calls that LoseRequest, LoseAnswer, Drop, DropAnswer or HalfOpen ended.
	Late float64
	// Corrupt flips one bit of the request or of the answer.
	Corrupt float64
	// Cut ends the request or the answer in the middle: the reader gets the beginning and no error.
	Cut float64

	// MaxDelay bounds Delay, Reorder, Late and HalfOpen. 0 means 10 ms.
	MaxDelay time.Duration
	// Latency is the upper bound of the time that a request or an answer takes: the seed draws the time of each, to the
	// nanosecond. Calls made at the same moment therefore arrive one after the other; in virtual time the order is the
	// same in every run. 0 means none.
	Latency time.Duration
}

func (f Faults) maxDelay() time.Duration {
	if f.MaxDelay > 0 {
		return f.MaxDelay
	}
	return 10 * time.Millisecond
}

const golden = 0x9e3779b97f4a7c15 // spreads consecutive numbers over all bits

// fate is the set of faults of one call.
type fate struct {
	fatal                         string // name of a field of Faults, or ""
	reorder, duplicate, late      bool
	firstAnswer                   bool // the first answer of a duplicate goes to the caller
	delay                         time.Duration
	corruptRequest, corruptAnswer bool
	bit                           uint64
	cutRequest, cutAnswer         bool
	rest                          float64 // the remaining part of a cut message
	there, back                   time.Duration
}

// draw decides by seed, endpoint, message and the number of earlier messages of that name to the endpoint. The draws
// are always the same ones in the same order, so that changing one probability changes no other fault.
func (f Faults) draw(seed, message uint64, times int) fate {
	r := rand.New(rand.NewPCG(seed, message+uint64(times)*golden))
	hit := func(p float64) bool { return r.Float64() < p }
	var out fate
	out.fatal = f.fatal(r.Float64())
	if delayed, delay := hit(f.Delay), r.Int64N(int64(f.maxDelay())); delayed {
		out.delay = time.Duration(delay)
	}
	out.reorder, out.duplicate, out.late = hit(f.Reorder), hit(f.Duplicate), hit(f.Late)
	out.firstAnswer = hit(0.5)
	corrupt, request := hit(f.Corrupt), hit(0.5)
	out.corruptRequest, out.corruptAnswer = corrupt && request, corrupt && !request
	out.bit = r.Uint64()
	cut, request := hit(f.Cut), hit(0.5)
	out.cutRequest, out.cutAnswer = cut && request, cut && !request
	out.rest = r.Float64()
	if f.Latency > 0 {
		out.there, out.back = time.Duration(r.Int64N(int64(f.Latency))), time.Duration(r.Int64N(int64(f.Latency)))
	}
	if out.fatal != "" {
		return fate{fatal: out.fatal, late: out.late && out.fatal != "Refuse", there: out.there, back: out.back}
	}
	return out
}

// names are the names of the faults in f.
func (f fate) names() []string {
	var names []string
	for _, fault := range []struct {
		name string
		is   bool
	}{
		{f.fatal, f.fatal != ""}, {"Delay", f.delay > 0}, {"Reorder", f.reorder}, {"Duplicate", f.duplicate},
		{"Late", f.late},
		{"Corrupt", f.corruptRequest || f.corruptAnswer}, {"Cut", f.cutRequest || f.cutAnswer},
	} {
		if fault.is {
			names = append(names, fault.name)
		}
	}
	return names
}

// fatal finds the fault of the first group whose interval on the line from 0 to 1 contains x.
func (f Faults) fatal(x float64) string {
	for _, fault := range []struct {
		name string
		p    float64
	}{
		{"Refuse", f.Refuse}, {"LoseRequest", f.LoseRequest}, {"LoseAnswer", f.LoseAnswer}, {"Drop", f.Drop},
		{"DropAnswer", f.DropAnswer},
		{"HalfOpen", f.HalfOpen},
	} {
		if x -= fault.p; x < 0 {
			return fault.name
		}
	}
	return ""
}

// spoilRequest returns a request as the server receives it.
func (f fate) spoilRequest(req [][]byte) [][]byte {
	if !f.corruptRequest && !f.cutRequest {
		return req
	}
	return [][]byte{f.spoil(join(req), f.corruptRequest, f.cutRequest)}
}

// spoilAnswer wraps read so that it gets the answer as the caller receives it.
func (f fate) spoilAnswer(read func([]byte) error) func([]byte) error {
	if !f.corruptAnswer && !f.cutAnswer {
		return read
	}
	return func(body []byte) error {
		return read(f.spoil(append([]byte(nil), body...), f.corruptAnswer, f.cutAnswer))
	}
}

func (f fate) spoil(message []byte, corrupt, cut bool) []byte {
	if corrupt {
		flip(message, f.bit)
	}
	if cut {
		message = message[:int(f.rest*float64(len(message)))] // rest is below 1
	}
	return message
}

// digest is a number for a message to an endpoint.
func digest(endpoint string, message ...[]byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(endpoint))
	_, _ = h.Write([]byte{0})
	for _, part := range message {
		_, _ = h.Write(part)
	}
	return h.Sum64()
}

// join copies the parts into one slice.
func join(parts [][]byte) []byte {
	var joined []byte
	for _, part := range parts {
		joined = append(joined, part...)
	}
	return joined
}

// flip changes one bit of a message; an empty one stays as it is.
func flip(message []byte, bit uint64) []byte {
	if n := uint64(len(message)) * 8; n > 0 {
		message[bit%n/8] ^= 1 << (bit % 8)
	}
	return message
}
