package server

import (
	"errors"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// reply is the answer to one request and the memory it is made of.
type reply struct {
	wire.Builder
	frame wire.Frame
	done  func() // puts it back
	// asked are the rows wanted, the first so many of them: the memory of the others is for larger requests.
	asked  []asked
	wanted int
	dense  []float32
	// foreseen are the dense weights that a push has left for its answer.
	foreseen update.Ahead
	// changed are the rows that changed, by embedding.
	changed [][]float32
}

// handle is the transport's handler.
func (s *Server) handle(body []byte, out *transport.Reply) {
	r := s.replies.Get().(*reply)
	out.Done = r.done
	f := &r.frame
	f.Header = wire.Header{Op: wire.OpHeartbeat} // of a refusal when the request has no header that can be read
	err := f.Parse(body)
	r.Reset(wire.Header{Op: f.Op, Job: s.job, Worker: f.Worker, Life: f.Life, Seq: f.Seq})
	if err == nil {
		err = s.serve(f, r)
	}
	if err != nil {
		s.refuse(r, err)
	}
	out.Parts = r.Parts()
}

// refuse makes the reply say why nothing was done.
func (s *Server) refuse(r *reply, err error) {
	h := *r.Header()
	h.Status = wire.StatusRefused
	var refusal *wire.Refusal
	if errors.As(err, &refusal) {
		h.Status = refusal.Status
	}
	if h.Status != wire.StatusNotReady {
		s.refused.Add(1)
	}
	s.log.Debug("refused", "op", h.Op, "worker", h.Worker, "error", err)
	r.Reset(h)
	r.Blob([]byte(err.Error()))
}

// handlers has what a server does for each op. The first two compare whole fingerprints, and say where they differ; the others
// are for frames of this server's job.
var handlers = [...]func(*Server, *wire.Frame, *reply) error{
	wire.OpHello:     (*Server).hello,
	wire.OpJoin:      (*Server).hello,
	wire.OpStep:      (*Server).step,
	wire.OpPeek:      (*Server).peek,
	wire.OpPiece:     silent((*Server).piece),
	wire.OpPublish:   silent((*Server).publish),
	wire.OpPark:      silent((*Server).park),
	wire.OpLeave:     silent((*Server).leave),
	wire.OpHeartbeat: (*Server).heartbeat,
	wire.OpGather:    (*Server).gather,
	wire.OpFreeze:    (*Server).freeze,
	wire.OpSave:      (*Server).save,
	wire.OpCommit:    silent((*Server).commit),
	wire.OpScan:      (*Server).scan,
	wire.OpFence:     (*Server).fence,
	wire.OpDrop:      (*Server).drop,
	wire.OpNorms:     (*Server).takeNorms,
	wire.OpKeep:      silent((*Server).keep),
	wire.OpBring:     (*Server).bring,
	wire.OpRate:      (*Server).rate,
}

// silent is a handler whose answer is that the work is done.
func silent(do func(*Server, *wire.Frame) error) func(*Server, *wire.Frame, *reply) error {
	return func(s *Server, f *wire.Frame, _ *reply) error { return do(s, f) }
}

// serve does what a frame asks and fills the reply.
func (s *Server) serve(f *wire.Frame, r *reply) error {
	if f.Job != s.job && f.Op != wire.OpHello && f.Op != wire.OpJoin {
		return wire.Refuse(wire.StatusMismatch, "worker %d belongs to another job than server %d: start all processes from one program, with the same options and FLEET_CLUSTER", f.Worker, s.c.Index)
	}
	return handlers[f.Op](s, f, r)
}

// step is one training step: a push if the frame has gradients, then the rows and weights it asks for.
func (s *Server) step(f *wire.Frame, r *reply) error {
	r.foreseen.Version = 0
	if err := s.readPull(f, r); err != nil {
		return err
	}
	if f.Samples > 0 {
		p := s.pushes.Get().(*push)
		defer s.pushes.Put(p)
		if err := p.read(s, f); err != nil {
			return err
		}
		p.foresee(s, f, r)
		if err := s.push(f, p, r.Header()); err != nil {
			return err
		}
	} else if err := s.enter(f); err != nil {
		return err
	}
	return s.pull(f, r, false)
}

// peek reads for evaluation.
func (s *Server) peek(f *wire.Frame, r *reply) error {
	r.foreseen.Version = 0
	if err := s.readPull(f, r); err != nil {
		return err
	}
	if err := s.enter(f); err != nil {
		return err
	}
	return s.pull(f, r, true)
}

// enter lets a frame without gradients in once what it must reflect has been applied.
func (s *Server) enter(f *wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	if err := s.awaitPublished(); err != nil {
		return err
	}
	return s.awaitRound(mode.Round(f.Round))
}

// publish sets the initial dense weights if nobody has yet. They count when the last piece of them has come; worker 0
// sends the pieces in order.
func (s *Server) publish(f *wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil || s.published {
		return err
	}
	p, err := f.Piece()
	if err != nil {
		return err
	}
	if p.Number > m.publishing {
		return wire.Refuse(wire.StatusRefused, "worker %d publishes piece %d after %d", f.Worker, p.Number+1, m.publishing)
	}
	w, from, to, err := s.denseOf(f, s.floats(), new([]float32))
	if err != nil {
		return err
	}
	err = s.eachBlock(from, to, func(d *table.Dense, at, lo, hi int) error {
		if s.loaded[d] {
			return nil
		}
		return d.SetAt(at, w[lo:hi])
	})
	if err != nil {
		return err
	}
	m.publishing = max(m.publishing, p.Number+1)
	if p.Number == p.Of-1 {
		s.markPublished()
	}
	return nil
}

// markPublished opens the tables for pulls. mu is held.
func (s *Server) markPublished() {
	s.published = true
	s.updates.Changed()
	s.broadcast()
}

// floats is the number of dense values that live on this server.
func (s *Server) floats() int { return s.c.Layout.Parts[s.c.Index].Floats }

// denseOf is the dense section of a frame, nil if it has none, and which [from, to) of n values it is to hold. Floats that came narrowed
// are widened into room.
func (s *Server) denseOf(f *wire.Frame, n int, room *[]float32) (dense []float32, from, to int, err error) {
	if from, to, err = f.Span(n); err != nil {
		return nil, 0, 0, err
	}
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindDense {
			continue
		}
		w, err := sec.DenseIn(room)
		if err != nil {
			return nil, 0, 0, err
		}
		if len(w) != to-from || dense != nil {
			return nil, 0, 0, wire.Refuse(wire.StatusRefused, "worker %d sent %d dense values to server %d for its %d to %d", f.Worker, len(w), s.c.Index, from, to)
		}
		dense = w
	}
	return dense, from, to, nil
}

func (s *Server) awaitPublished() error {
	return s.await(func() bool { return s.published }, func() string { return "for worker 0 to publish the initial weights" })
}
