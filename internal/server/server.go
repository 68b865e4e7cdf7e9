package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// Server is one parameter server: its parts, each with the fields that it needs.
type Server struct {
	// c is never written after New.
	c Config
	// st has the lock and the state that it guards; part has the tables, which have locks of their own.
	st   *state.Job
	part *state.Part
	// The parts below have a field here since Run, Return or the meter needs them; other parts are known only to the
	// parts that use them.
	rounds    *rounds
	clipping  *clipping
	saving    *saving
	holding   *holding
	leading   *leading
	led       *led
	loading   *loading
	recovery  *recovery
	following *following
	deaths    *deaths
	servers   *servers
	stopping  *stopping
	door      *door
	outside   *outside
	meter     *Meter
	segments  *segments
	journal   *state.Journal
	growth    *growth
	reloading *reloading
	returning *returning
	presence  presence
	log       *slog.Logger
}

// New makes a server with empty tables. It reads no file and sends nothing: Return, Resume, Restore or Begin fills the
// tables, and Run serves. An error means that mode, rule and params do not fit together.
func New(c Config) (*Server, error) {
	traits := mode.Of(c.Strategy.Mode)
	if traits.NewServer == nil {
		return nil, fmt.Errorf("server: mode %q is not known", c.Strategy.Mode)
	}
	clip, err := clipOf(c.Rule, traits)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, meter: newMeter(), log: c.Logger.With("server", c.Index)}
	journals := c.Strategy.Recovery.Journal != ""
	options := table.Options{Numbered: traits.Copies, Telling: journals}
	memory := int64(c.Strategy.MaxMemory*float64(proc.MemoryLimit())) / c.onHost()
	limit := transport.LimitOf(c.Transport)
	if s.part, err = state.NewPart(c.Layout, c.Index, c.serverRule, options, limit, memory); err != nil {
		return nil, err
	}
	s.saysBounds()
	s.part.Store.LogTo(s.log)
	s.part.Updates = update.New(s.part.Store, c.Layout, c.Index,
		update.Options{Weighting: c.Strategy.Weighting, Delay: float32(c.Strategy.DelayCompensation), Clip: clip})
	life, end := context.WithCancel(context.Background())
	s.st = state.New(c.stateOptions(traits, s.log, end))
	s.door = newDoor(s.st, c.Index, c.Fingerprint.Sum(), s.meter, s.log)
	journal := state.NewJournal(s.st, c.Index, c.Strategy.Recovery.Journal, s.log)
	peers := state.NewPeers(s.st, c.Index, c.Endpoints, c.Transport, c.Strategy)
	s.clipping = &clipping{st: s.st, peers: peers, by: clip, params: len(c.Layout.Params),
		norms: newNorms(len(c.Endpoints)), life: life, limit: c.Strategy.WaitTimeout.Std()}
	id := &identity{process: cmp.Or(c.Process, random()), processes: make([]uint64, len(c.Endpoints))}
	if c.Index == 0 {
		g := roster.NewGeneration(id.process, c.Fingerprint.Sum())
		s.st.SetGeneration(&g)
	}
	s.journal = journal
	s.segments = newSegments(c, s.st, id, journal, s.log)
	s.st.Failed = s.segments.void
	s.connect(traits, journal)
	s.meter.measure(s.st, s.recovery, journal)
	return s, nil
}

// saysBounds logs the bounds of embeddings by max_memory.
func (s *Server) saysBounds() {
	if s.c.Strategy.MaxMemory > 0 && proc.MemoryLimit() == 0 {
		s.log.Warn("this server is in no control group with a bound on its memory, so that max_memory bounds no table")
	}
	for i, t := range s.part.Store.Tables {
		if own := s.c.Layout.Embeddings[i].Param; t.Param().MaxBytes != own.MaxBytes {
			s.log.Info("an embedding without MaxBytes is bounded by max_memory", "table", own.Name, "bytes",
				t.Param().MaxBytes, "rows", table.MostRows(t.Param(), s.c.serverRule(own)))
		}
	}
}

// random is a number that can't be guessed, for a process whose configuration gives none.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// training are the parts that answer steps. connect passes them to the parts that need them, and nothing keeps the
// struct.
type training struct {
	rates   *rates
	pieces  *pieces
	changed *changed
	delays  *delays
	pushing *pushing
	reading *reading
	inHand  *inHand
	steps   *steps
}

// connectTraining makes the parts that answer steps, each with the parts below it that it needs. Nothing is served yet,
// so that no lock is needed.
func (s *Server) connectTraining(traits mode.Traits, journal *state.Journal) training {
	c, st, part := s.c, s.st, s.part
	t := training{
		rates:   &rates{st: st, store: part.Store, rounds: traits.Rounds, log: s.log},
		inHand:  &inHand{st: st, follower: st.Follower},
		changed: &changed{st: st, part: part, on: traits.Copies, byWorker: make([]*changes, c.Workers)},
		delays: &delays{on: c.Strategy.DelayCompensation != 0, floats: part.Floats,
			pulled: make([][]float32, c.Workers)},
	}
	s.rounds = newRounds(st, part, t.rates, s.clipping, journal)
	summing := newSumming(st, part, c.Strategy, traits.Rounds, s.rounds.push)
	t.pieces = &pieces{st: st, roster: st.Roster, part: part, summing: summing,
		stages: make([]map[uint64]*stage, c.Workers)}
	foresight := newForesight(c.Strategy, c.Workers, part.Floats)
	t.pushing = &pushing{st: st, roster: st.Roster, rounds: s.rounds, pieces: t.pieces, changed: t.changed,
		delays: t.delays}
	t.reading = &reading{st: st, part: part, store: part.Store, inHand: t.inHand, changed: t.changed, delays: t.delays,
		maxFrame: c.Strategy.MaxFrame, foreseeing: foresight.on, bounded: traits.Lockstep,
		scanned: map[uint32][]uint64{}}
	t.steps = &steps{st: st, pieces: t.pieces, pushing: t.pushing, reading: t.reading, foresight: foresight,
		pushes: sync.Pool{New: func() any { return new(push) }}}
	return t
}

// connect makes the other parts that answer requests, and gives all of them to the door. The list at its end has the
// order of the facts in a base: facts are restored in that order, and a part may rely on the facts of earlier parts.
func (s *Server) connect(traits mode.Traits, journal *state.Journal) {
	c, st, part := s.c, s.st, s.part
	t := s.connectTraining(traits, journal)
	frozen := &frozen{st: st, part: part, known: map[int]bool{}}
	s.loading = &loading{st: st, part: part, frozen: frozen, rule: c.Rule, log: s.log,
		pieces: make([]int, c.Workers)}
	keep := c.Strategy.Recovery
	epochs := &epochs{st: st, alike: traits.Lockstep, begun: make([]progress.Begun, c.Workers),
		loaded: make([]bool, c.Workers)}
	s.led = &led{st: st, talks: make([]talk, c.Workers),
		job:      epoch.Job{Members: c.Workers, InStep: traits.Lockstep},
		patience: max(c.Strategy.WorkerTimeout, c.Strategy.WorkersReturn()).Std(),
		notice:   c.Strategy.WorkerTimeout.Std(),
		pause:    c.Strategy.WaitTimeout.Std() / 2}
	s.recovery = &recovery{st: st, epochs: epochs, led: s.led, savers: st.Roster.Savers, part: part,
		life: s.clipping.life, index: c.Index, meter: s.meter,
		series: &checkpoint.Series{Dir: keep.Dir, Keep: keep.Keep, Deltas: keep.Deltas, Log: s.log},
		places: map[string]string{}, journal: journal, segments: s.segments, log: s.log}
	s.following = &following{recovery: s.recovery,
		patience: c.Strategy.WorkerTimeout.Std() * 2 / 3} // workers wait for a server that long
	s.saving = &saving{st: st, part: part, frozen: frozen,
		rates: t.rates, recovery: s.recovery, epochs: epochs, led: s.led, rule: c.Rule, servers: len(c.Endpoints),
		journal: journal, segments: s.segments,
		tracker: checkpoint.NewTracker(part.Store, keep.Deltas > 0), log: s.log}
	s.reloading = &reloading{st: st, part: part, rule: c.Rule, rounds: s.rounds, frozen: frozen,
		delays: t.delays, changed: t.changed, epochs: epochs, log: s.log}
	s.holding = &holding{changed: t.changed, patience: c.Strategy.WorkerTimeout.Std() / 20,
		works: &works{inHand: t.inHand, part: part, saving: s.saving, reloading: s.reloading,
			journal: journal, segments: s.segments, log: s.log}}
	s.leading = &leading{st: st, preparing: map[string]*prepared{},
		leader: st.Leader, peers: s.clipping.peers, holding: s.holding, saving: s.saving,
		recovery: s.recovery, epochs: epochs, led: s.led, frozen: frozen, journal: journal, life: s.clipping.life,
		orders: make([]*cut.Order, len(c.Endpoints)), withdraw: make([]context.CancelFunc, len(c.Endpoints))}
	differ := &differences{fingerprint: c.Fingerprint, log: s.log, told: map[int]bool{}}
	gathering := &gathering{st: st, epochs: epochs, saves: keep.Dir != "",
		byNumber: map[uint64]*gathered{}}
	heartbeat := c.Strategy.HeartbeatInterval.Std()
	pace := max(min(c.Strategy.WorkerTimeout.Std()/8, heartbeat/2), time.Millisecond)
	cables := &lines{roster: st.Roster, byWorker: make([]line, c.Workers), lonely: keep.Journal != "", pace: pace,
		enough: max(min(endedAfter, c.Strategy.WorkerTimeout.Std()/4), 2*heartbeat)}
	room := &room{savers: st.Roster.Savers, store: part.Store, index: c.Index, full: make([]bool, len(c.Endpoints))}
	members := &membership{st: st, room: room, rounds: s.rounds, pieces: t.pieces,
		changed: t.changed, delays: t.delays, loading: s.loading, recovery: s.recovery, epochs: epochs,
		leading: s.leading, gathering: gathering, index: c.Index, back: c.Strategy.GoesBack(), lines: cables,
		differences: differ, ended: make(chan struct{}, 1), unsaid: map[int]bool{}, log: s.log}
	s.servers = &servers{st: st, peers: s.clipping.peers, following: s.following, room: room,
		members: members, holding: s.holding, identity: s.segments.identity, journal: journal, index: c.Index,
		fingerprint: c.Fingerprint, differences: differ, pace: heartbeat,
		ended: make([]bool, len(c.Endpoints)), log: s.log}
	s.stopping = &stopping{st: st, savers: st.Roster.Savers, servers: s.servers,
		recovery: s.recovery}
	s.deaths = &deaths{st: st, hope: st.Roster.Hope, peers: s.clipping.peers, leading: s.leading,
		membership: members, rounds: s.rounds, rates: t.rates, clipping: s.clipping, lines: cables, torn: traits.Rounds,
		back: c.Strategy.GoesBack(), pace: pace, log: s.log}
	s.growth = &growth{journal: journal, servers: s.servers, segments: s.segments}
	s.returning = &returning{config: c, st: st, part: part, loading: s.loading, following: s.following,
		epochs: epochs, segments: s.segments, log: s.log}
	for _, p := range []interface{ register(*state.Memory) }{s.servers, s.loading, frozen, epochs, s.recovery,
		s.rounds, members, s.deaths, t.rates, s.clipping, gathering, s.saving, s.reloading, s.holding, s.leading,
		s.led} {
		p.register(s.segments.memory) // in the order in which facts are resumed
	}
	s.answer(t, members, frozen, gathering, journal)
	s.outside = newOutside(c, st, t.reading, s.meter)
}

// answer sets the handler of each op. A recorded handler waits for the journal before its answer is sent, if the
// journal is to survive a machine. The door refuses ops without a handler.
func (s *Server) answer(t training, members *membership, frozen *frozen, gathering *gathering, journal *state.Journal) {
	st := s.door.st
	s.door.handlers = []handler{
		wire.OpHello:     recorded(journal, control(members.join)),
		wire.OpJoin:      recorded(journal, control(members.join)),
		wire.OpHeartbeat: members.heartbeat,
		wire.OpLeave:     recorded(journal, silent(members.leave)),
		wire.OpPublish:   recorded(journal, silent(s.loading.handle)),
		wire.OpStep:      t.steps.step,
		wire.OpPeek:      t.steps.peek,
		wire.OpPiece:     silent(t.pieces.handle),
		wire.OpPark:      recorded(journal, silent(t.pushing.park)),
		wire.OpRate:      recorded(journal, byWorker(st, t.rates.handle)),
		wire.OpScan:      control(t.reading.scan),
		wire.OpGather:    recorded(journal, byWorker(st, gathering.handle)),
		wire.OpSaver:     recorded(journal, byWorker(st, s.recovery.saver)),
		wire.OpBegin:     recorded(journal, byWorker(st, s.recovery.epochs.handle)),
		wire.OpEpoch:     recorded(journal, byWorker(st, s.led.handle)),
		wire.OpKeep:      control(frozen.handleKeep),
		wire.OpBring:     frozen.handleBring,
		wire.OpFence:     recorded(journal, control(s.deaths.fence)),
		wire.OpDrop:      recorded(journal, control(s.deaths.drop)),
		wire.OpNorms:     recorded(journal, control(s.clipping.handle)),
		wire.OpReport:    recorded(journal, control(s.servers.handle)),
		wire.OpServe:     recorded(journal, byWorker(st, s.holding.serve)),
		wire.OpCut:       recorded(journal, control(s.leading.ask)),
		wire.OpOrder:     recorded(journal, control(s.holding.handle)),
	}
}

// Return restores the state that the journal of this server has, if the strategy asks for a journal; returned is false
// if it has none. An error that wraps [ErrNoReturn] means that the journal's state can't be restored, and that this
// server can't be used.
func (s *Server) Return(ctx context.Context) (returned bool, err error) {
	return s.returning.comeBack(ctx)
}

// Release closes the journal of a server that will not run.
func (s *Server) Release() {
	if s.journal.On() {
		s.journal.Close()
	}
}

// Restore fills the tables from a checkpoint, written by any number of servers, or from a saved model. It is called
// before Run. After an error the tables may be partly filled, and the server can't be used.
func (s *Server) Restore(ctx context.Context, dir string, what checkpoint.Selection) error {
	s.segments.from = source{Dir: dir, Told: checkpoint.From(dir, what), What: what}
	m, err := s.loading.fill(ctx, dir, what, s.segments.from.Told)
	s.recovery.counts(m.Counted)
	return err
}

// Resume fills the tables from the newest whole checkpoint of Strategy.Recovery; found is false if there is none. told
// is the origin that the job was started with, for a job without such checkpoints. It is called before Run. A damaged
// checkpoint is skipped, and the one before it is loaded; an error means that something could not be read.
func (s *Server) Resume(ctx context.Context, told string) (found bool, err error) {
	found, err = s.following.resume(ctx, func(ctx context.Context, dir string) (checkpoint.Manifest, error) {
		m, err := s.loading.fill(ctx, dir, checkpoint.Selection{}, told)
		s.segments.from = source{Dir: dir, Told: told, ID: m.ID}
		return m, err
	})
	if !found {
		for _, t := range s.part.Store.Tables {
			t.Clear() // remove what a damaged checkpoint has left
		}
	}
	return found, err
}

// Begin gives the tables the rows that their params begin with.
func (s *Server) Begin(ctx context.Context) error {
	s.segments.from = source{}
	return s.loading.begin(ctx)
}

// Store returns the server's tables.
func (s *Server) Store() *table.Store { return s.part.Store }

// Meter returns the server's meter, which counts from New on.
func (s *Server) Meter() *Meter { return s.meter }

// Members returns the state of all workers.
func (s *Server) Members() []roster.Member {
	s.st.Lock()
	defer s.st.Unlock()
	return s.st.Roster.Members()
}

// Waits are the requests that have waited for over a second, in the order in which they were noticed. Each has its
// reason, the workers that it waits for, and its beginning.
func (s *Server) Waits() (all []state.Wait) {
	s.st.Lock()
	defer s.st.Unlock()
	for _, w := range s.st.Waits {
		all = append(all, w.Wait)
	}
	return all
}
