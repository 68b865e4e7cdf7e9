package server

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// door passes each request to the handler of its op, and answers with a reason when one is refused. Every request gets
// an answer, even bytes that are no frame: a sender without one would assume that the network has lost the request, and
// send it again.
//
// A refusal has a status, by which the sender decides whether to try again, and a text for a person. Refusals are
// counted, except "not yet" and "again", which are no mistakes.
type door struct {
	st    *state.Job
	index int
	// fingerprint identifies the job of workers and servers that introduce themselves.
	fingerprint uint64
	handlers    []handler // by op
	replies     sync.Pool
	meter       *Meter
	log         *slog.Logger
}

// handler does what a frame asks for and fills the reply.
type handler func(*wire.Frame, *state.Reply) error

// silent is a handler whose answer is a header alone.
func silent(do func(*wire.Frame) error) handler {
	return func(f *wire.Frame, _ *state.Reply) error { return do(f) }
}

// control is a handler of frames with a control message. The message is decoded from JSON before do is called; a frame
// whose message can't be decoded is refused.
func control[M any](do func(f *wire.Frame, msg *M, r *state.Reply) error) handler {
	return func(f *wire.Frame, r *state.Reply) error {
		msg := new(M)
		if err := f.JSON(msg); err != nil {
			return err
		}
		return do(f, msg, r)
	}
}

// byWorker is control for messages of workers of the job: do holds the lock, and the sender is known to take part.
func byWorker[M any](st *state.Job, do func(f *wire.Frame, msg *M, r *state.Reply) error) handler {
	return control(func(f *wire.Frame, msg *M, r *state.Reply) error {
		st.Lock()
		defer st.Unlock()
		if err := st.Sender(f); err != nil {
			return err
		}
		return do(f, msg, r)
	})
}

// recorded is a handler that changes something: it answers when the change survives what the journal is to survive.
func recorded(in *state.Journal, do handler) handler {
	if !in.Durably {
		return do
	}
	return func(f *wire.Frame, r *state.Reply) error {
		if err := do(f, r); err != nil {
			return err
		}
		return in.Durable()
	}
}

// newDoor makes a door without handlers. Replies are reused when the transport has sent them.
func newDoor(st *state.Job, index int, fingerprint uint64, meter *Meter, log *slog.Logger) *door {
	d := &door{st: st, index: index, fingerprint: fingerprint, meter: meter, log: log}
	pool(&d.replies)
	return d
}

// pool makes a pool of replies, each of which returns to the pool when it is done.
func pool(replies *sync.Pool) {
	replies.New = func() any {
		r := new(state.Reply)
		r.Done = func() { replies.Put(r) }
		return r
	}
}

// handle is the transport's handler. It runs on a goroutine of the transport for each request, and returns when the
// answer is there: a request that waits blocks its goroutine.
func (d *door) handle(body []byte, out *transport.Reply) {
	r := d.replies.Get().(*state.Reply)
	out.Done, r.Broken, r.First = r.Done, out.Broken, out.First
	f := &r.Frame
	f.Header = wire.Header{}
	err := f.Parse(body)
	if err != nil {
		f.Op = wire.OpHeartbeat // for the refusal, since the request's op can't be read or trusted
	}
	r.Reset(wire.Header{Op: f.Op, Worker: f.Worker, Life: f.Life, Seq: f.Seq})
	if err == nil {
		defer d.meter.times[f.Op].Since(time.Now())
		err = d.serve(f, r)
	}
	if err != nil {
		out.Stranger = !d.knows(&f.Header)
		if status := refuse(r, err); status != wire.StatusNotReady && status != wire.StatusAgain {
			d.meter.refused.Add(1)
		}
		d.log.Debug("refused", "op", f.Op, "worker", f.Worker, "error", err)
	}
	out.Parts = r.Parts()
}

// serve handles a frame whose proof allows its sender to send it. The answer carries the same proof. The answer to a
// refused sender without a proof carries none: this server may belong to another run of the job. An error is the
// refusal for the sender; the handler has run only if nothing was refused before.
func (d *door) serve(f *wire.Frame, r *state.Reply) error {
	if err := d.admit(&f.Header); err != nil {
		return err
	}
	if g := d.st.Generation(); g != nil {
		worker := f.Job == g.Life(f.Worker, f.Life)
		if worker || f.Job == g.Servers() {
			r.Header().Job, r.Header().ServerLife = f.Job, d.st.Lives.Own()
			if err := d.st.Lives.Admit(&f.Header, d.index, !worker); err != nil {
				return err
			}
		}
	}
	if d.handlers[f.Op] == nil {
		return wire.Refuse(wire.StatusRefused, "server %d does not support %v: run the same build everywhere", d.index,
			f.Op)
	}
	on := count.Profiling()
	if on {
		label(f, "")
	}
	err := d.handlers[f.Op](f, r)
	if on || count.Profiling() {
		count.Label(context.Background())
	}
	if err == nil {
		r.Header().Job = f.Job
	}
	return err
}

// label sets the labels of a profile for the frame that a goroutine handles, with its table if there is one.
func label(f *wire.Frame, table string) {
	labels := []string{"op", f.Op.String(), "worker", strconv.Itoa(int(f.Worker)), "table", table}
	if table == "" {
		labels = labels[:4]
	}
	count.Label(context.Background(), labels...)
}

// admit checks the job of a frame. Workers that join and servers that report send whole fingerprints to their handlers,
// which report the differences.
func (d *door) admit(h *wire.Header) error {
	g := d.st.Generation()
	switch {
	case h.Op == wire.OpHello || h.Op == wire.OpJoin || h.Op == wire.OpReport:
		return nil
	case g == nil:
		return wire.Refuse(wire.StatusNotReady, "server %d waits for server 0: is it running?", d.index)
	case h.Op == wire.OpFence || h.Op == wire.OpDrop || h.Op == wire.OpNorms || h.Op == wire.OpOrder:
		if h.Job != g.Servers() {
			return wire.Refuse(wire.StatusRefused, "only servers of this job may send %v", h.Op)
		}
	case h.Job == g.Life(h.Worker, h.Life):
	case h.Life == 0:
		return wire.Refuse(wire.StatusNotReady, "worker %d has not said hello to server %d", h.Worker, d.index)
	default:
		return d.foreign(h)
	}
	return nil
}

// knows reports whether a frame's job is one that this server has given out, or that of a process which introduces
// itself. It takes no lock, since it is called for every large frame that a stranger may send.
func (d *door) knows(h *wire.Header) bool {
	g := d.st.Generation()
	return h.Job == d.fingerprint || g != nil && (h.Job == g.Life(h.Worker, h.Life) || h.Job == g.Servers())
}

// screen refuses a large frame of a stranger by its header, so that it takes no memory from this job's frames.
func (d *door) screen(first []byte) error {
	h, err := wire.ParseHeader(first)
	if err == nil && !d.knows(&h) {
		err = d.foreign(&h)
	}
	return err
}

// foreign is the refusal of a process that is not of this run of the job. The sender can't tell its two reasons apart,
// and must do the same in both.
func (d *door) foreign(h *wire.Header) error {
	return wire.Refuse(wire.StatusBack, "worker %d is not of this run of the job: a server was started again and has "+
		"lost its weights, or server %d is another job's: start the job again from its last checkpoint, with "+
		"addresses that no other job has", h.Worker, d.index)
}

// refuse makes a reply say why nothing was done.
func refuse(r *state.Reply, err error) (status uint8) {
	h := *r.Header()
	h.Status = wire.StatusRefused
	var refusal *wire.Refusal
	switch {
	case errors.As(err, &refusal):
		h.Status = refusal.Status
		if refusal.Retry > 0 {
			h.Samples = uint32(max(1, refusal.Retry.Milliseconds()))
		}
	case errors.Is(err, wire.ErrDamaged):
		h.Status = wire.StatusDamaged
	}
	r.Reset(h)
	r.Blob([]byte(err.Error()))
	return h.Status
}
