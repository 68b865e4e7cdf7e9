package server

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// door takes requests to whoever handles their op, and says why when one is refused. Every request gets an answer, be it
// bytes that are no frame: a sender that gets none would believe that the network has lost it, and send it again.
//
// A refusal has a status, by which the sender knows whether to come again, and a text for a person. Refusals are counted, but
// for those that say "not yet", which are the rule while a job starts.
type door struct {
	index    int
	job      uint64
	handlers []handler // by op
	replies  sync.Pool
	refused  atomic.Int64
	log      *slog.Logger
}

// handler does what a frame asks and fills the reply.
type handler func(*wire.Frame, *reply) error

// silent is a handler whose answer is that the work is done.
func silent(do func(*wire.Frame) error) handler {
	return func(f *wire.Frame, _ *reply) error { return do(f) }
}

// control is a handler of frames that have a control message.
func control[M any](do func(f *wire.Frame, msg *M, r *reply) error) handler {
	return func(f *wire.Frame, r *reply) error {
		msg := new(M)
		if err := f.JSON(msg); err != nil {
			return err
		}
		return do(f, msg, r)
	}
}

func newDoor(index int, job uint64, log *slog.Logger) *door {
	d := &door{index: index, job: job, log: log}
	d.replies.New = func() any {
		r := new(reply)
		r.done = func() { d.replies.Put(r) }
		return r
	}
	return d
}

// handle is the transport's handler.
func (d *door) handle(body []byte, out *transport.Reply) {
	r := d.replies.Get().(*reply)
	out.Done = r.done
	f := &r.frame
	f.Header = wire.Header{Op: wire.OpHeartbeat} // of a refusal when the request has no header that can be read
	err := f.Parse(body)
	r.Reset(wire.Header{Op: f.Op, Job: d.job, Worker: f.Worker, Life: f.Life, Seq: f.Seq})
	if err == nil {
		err = d.serve(f, r)
	}
	if err != nil {
		out.Stranger = f.Job != d.job
		d.refuse(r, err)
	}
	out.Parts = r.Parts()
}

// screen refuses a large frame of another job by its header, so that it takes no room from this one's.
func (d *door) screen(first []byte) error {
	h, err := wire.ParseHeader(first)
	if err == nil && h.Job != d.job {
		err = d.foreign(&h)
	}
	return err
}

func (d *door) foreign(h *wire.Header) error {
	return wire.Refuse(wire.StatusMismatch, "worker %d belongs to another job than server %d: "+
		"start all processes from one program, with the same options and FLEET_CLUSTER", h.Worker, d.index)
}

// serve does what a frame asks. Workers that join show whole fingerprints, and are told where they differ; all other frames
// are of this server's job or refused.
func (d *door) serve(f *wire.Frame, r *reply) error {
	if f.Job != d.job && f.Op != wire.OpHello && f.Op != wire.OpJoin {
		return d.foreign(&f.Header)
	}
	return d.handlers[f.Op](f, r)
}

// refuse makes the reply say why nothing was done.
func (d *door) refuse(r *reply, err error) {
	h := *r.Header()
	h.Status = wire.StatusRefused
	var refusal *wire.Refusal
	if errors.As(err, &refusal) {
		h.Status = refusal.Status
	}
	if h.Status != wire.StatusNotReady {
		d.refused.Add(1)
	}
	d.log.Debug("refused", "op", h.Op, "worker", h.Worker, "error", err)
	r.Reset(h)
	r.Blob([]byte(err.Error()))
}
