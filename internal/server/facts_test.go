package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/server/state"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// drawn is a server whose workers do what is drawn.
type drawn struct {
	*Server
	t       *testing.T
	r       *rand.Rand
	workers []drawnWorker
	members []*epoch.Member // by worker
	n       int             // of what is numbered: cuts, rounds of norms, chains
	gathers uint64
}

// drawnWorker is what a worker knows of itself.
type drawnWorker struct {
	life  uint32
	seq   uint64
	lives bool
}

// decisions are all that a server can decide, by the key of its event or the kind of its record.
var decisions = map[string]func(*drawn){
	"life":     (*drawn).join,
	"begin":    (*drawn).join,
	"park":     (*drawn).round,
	"kind 2":   (*drawn).round, // an update
	"rate":     (*drawn).rate,
	"begun":    (*drawn).begun,
	"led":      (*drawn).epochs,
	"told":     (*drawn).epochs,
	"left":     func(d *drawn) { d.leave(nil) },
	"ends":     func(d *drawn) { d.leave(&wire.Ending{Why: "it was closed"}) },
	"fence":    (*drawn).die,
	"drop":     (*drawn).die,
	"stopping": func(d *drawn) { d.ask(d.lowest(), wire.OpSaver, wire.Saver{Last: true}) },
	"gathered": (*drawn).gather,
	"norms":    (*drawn).norms,
	"cut":      (*drawn).ends,
	"end":      (*drawn).ends,
	"made":     (*drawn).place,
	"load":     (*drawn).load,
	"kind 4":   (*drawn).frozen,
	"kind 5":   (*drawn).serve,
}

// elsewhere are decisions that a server alone does not make, or makes before anything else, with the tests that play
// them.
var elsewhere = []string{
	"generation", "server", // TestServersComeBack (fleet)
	"kind 3", // each drawn server begins with first weights
}

// TestWhatIsPlayedIsLive draws what a server decides, with the base of its journal in between or from before the first:
// one that comes back has the facts of the one that lived, and where it plays from the beginning, its tables.
func TestWhatIsPlayedIsLive(t *testing.T) {
	law.Slow(t)
	kinds := map[string]int{}
	const whole = 120
	seeds := law.Tries(whole)
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playDrawn(t, rand.New(rand.NewPCG(uint64(seed), 1)), kinds) })
	}
	for key := range decisions {
		if kinds[key] == 0 && seeds == whole {
			t.Errorf("nothing drawn has made %q", key)
		}
	}
}

func playDrawn(t *testing.T, r *rand.Rand, kinds map[string]int) {
	j := job{workers: 3, rule: optimizer.Adam{LR: 0.1},
		strategy: []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.Geo(2)}[r.IntN(3)],
		more:     []*optimizer.Param{{Name: "mean", Shape: []int{2}, W: make([]float32, 2), Frozen: true}}}
	if j.strategy.Mode == strategy.ModeGeo {
		j.rule = optimizer.SGD{LR: 0.1}
	}
	j.strategy.WaitTimeout = strategy.Duration(5 * time.Second)
	j.strategy.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	d := &drawn{Server: j.empty(t), t: t, r: r, workers: make([]drawnWorker, j.workers), members: make([]*epoch.Member, j.workers)}
	if returned, err := d.Return(t.Context()); returned || err != nil {
		t.Fatal(returned, err)
	}
	if err := d.segments.begun(); err != nil {
		t.Fatal(err)
	}
	d.leading.begin()
	defer d.leading.under.Wait()
	d.begin(t)
	d.workers[0] = drawnWorker{life: 1, lives: true}
	for w := 1; w < j.workers; w++ {
		d.joins(w)
	}
	var names []string
	for name := range decisions {
		names = append(names, name)
	}
	slices.Sort(names)
	steps := 4 + r.IntN(12)
	base := r.IntN(2 * steps)
	for n := range steps {
		if n == base {
			if err := d.segments.open(d.segments.base(source{}, d.facts(t))); err != nil {
				t.Fatal(err)
			}
		}
		if d.lowest() >= 0 {
			decisions[names[r.IntN(len(names))]](d)
		}
	}
	if d.st.Failure != nil {
		t.Fatal(d.st.Failure)
	}
	want := d.known(base < steps)
	kindsOf(t, d.segments.journal.Journal, kinds)
	d.Release()
	again := &drawn{Server: j.empty(t), t: t, workers: d.workers}
	if returned, err := again.Return(t.Context()); !returned || err != nil {
		t.Fatal(returned, err)
	}
	defer again.Release()
	if diff := cmp.Diff(want, again.known(base < steps)); diff != "" {
		t.Errorf("what is known differs (-live +played):\n%s", diff)
	}
}

// known is what a server knows: its facts, and unless these alone are asked for, what is in its tables.
func (d *drawn) known(facts bool) (all map[string]any) {
	d.t.Helper()
	if all = unpacked(d.t, d.facts(d.t)); !facts {
		text, err := d.describe(d.t)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	} else if factors, are := all["factors"].([]any); are {
		for _, f := range factors { // the drawn base has no tables: a factor counts from their first update on
			delete(f.(map[string]any), "from")
		}
	}
	forgetOn(all)
	var watched []bool // workers for whom it is noted what the others change
	for w := range d.workers {
		watched = append(watched, d.deaths.membership.changed.watches(w) != nil)
	}
	all["watched"] = watched
	return all
}

// forgetOn takes out of what is known the versions of weights, which a process counts by itself, and updates that are
// made beside each other count in another order than they were recorded in. So an answer that its worker has
// acknowledged may be kept a while longer by one.
func forgetOn(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "On")
		if requests, are := v["requests"].([]any); are {
			acked := 0.0
			for _, q := range requests {
				acked = max(acked, q.(map[string]any)["acked"].(float64))
			}
			v["requests"] = slices.DeleteFunc(requests, func(q any) bool { return q.(map[string]any)["seq"].(float64) < acked })
		}
		for _, of := range v {
			forgetOn(of)
		}
	case []any:
		for _, of := range v {
			forgetOn(of)
		}
	}
}

// lowest is the lowest worker that lives, -1 for none.
func (d *drawn) lowest() int {
	return slices.IndexFunc(d.workers, func(w drawnWorker) bool { return w.lives })
}

// some is a worker that lives, but not the last one.
func (d *drawn) some() int {
	var all []int
	for i, w := range d.workers {
		if w.lives {
			all = append(all, i)
		}
	}
	if len(all) < 2 {
		return -1
	}
	return all[d.r.IntN(len(all))]
}

// header is that of a worker's next request.
func (d *drawn) header(worker int, op wire.Op) wire.Header {
	d.st.Lock()
	defer d.st.Unlock()
	return wire.Header{Op: op, Worker: uint32(worker), Life: d.workers[worker].life, Round: uint64(d.st.Mode.Open())}
}

// numbered is header with the next number in the order of pushes, all before which are acknowledged.
func (d *drawn) numbered(worker int, op wire.Op) wire.Header {
	d.workers[worker].seq++
	h := d.header(worker, op)
	h.Seq, h.Acked = d.workers[worker].seq, d.workers[worker].seq
	return h
}

// ask makes a request that may be refused, and has its answer.
func (d *drawn) ask(worker int, op wire.Op, msg any) wire.Frame {
	return d.answer(message(d.t, d.header(worker, op), msg))
}

func (d *drawn) answer(b *wire.Builder) (f wire.Frame) {
	var reply transport.Reply
	d.door.handle(bodyOf(d.Server, b), &reply)
	defer reply.Done()
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
		d.t.Fatal(err)
	}
	return f
}

func (d *drawn) joins(w int) {
	h := wire.Header{Op: wire.OpJoin, Worker: uint32(w)}
	f := d.answer(message(d.t, h, wire.Hello{Fingerprint: d.c.Fingerprint, Process: d.r.Uint64()}))
	if f.Status != wire.StatusOK {
		return
	}
	var welcome wire.Welcome
	if err := f.JSON(&welcome); err != nil {
		d.t.Fatal(err)
	}
	d.workers[w] = drawnWorker{life: welcome.Life, lives: true}
}

// join has a process come for a worker, where one may come in another's place.
func (d *drawn) join() {
	if w := d.r.IntN(len(d.workers)); !d.lockstep() {
		d.joins(w)
	}
}

// round has every worker push, or park.
func (d *drawn) round() {
	var frames []*wire.Builder // of one round, before one of them may close it
	for w, is := range d.workers {
		if !is.lives {
			continue
		}
		b := pushOf(d.Server, d.numbered(w, wire.OpStep))
		if d.r.IntN(4) == 0 {
			b.Header().Op = wire.OpPark
			b.Reset(*b.Header())
		}
		frames = append(frames, b)
	}
	if !d.lockstep() && d.r.IntN(2) == 0 { // while updates are being applied
		frames = append(frames, d.rates())
	}
	var all sync.WaitGroup
	for _, b := range frames {
		all.Go(func() { d.answer(b) })
	}
	all.Wait()
}

func (d *drawn) rate() { d.answer(d.rates()) }

// begun has a worker report an epoch, where it is or later, or be refused.
func (d *drawn) begun() {
	msg := wire.Begin{Progress: wire.Progress{Epoch: d.r.IntN(5), User: []byte{byte(d.n)}}}
	d.ask(d.lowest(), wire.OpBegin, msg)
}

// epochs has the workers' programs say where they are, as long as they are told something.
func (d *drawn) epochs() {
	d.st.Lock()
	defer d.st.Unlock()
	for goes := true; goes; {
		goes = false
		for w, is := range d.workers {
			if !is.lives {
				continue
			}
			m := d.members[w]
			if m == nil || m.At().Life != is.life {
				m = epoch.NewMember(epoch.At{Worker: w, Life: is.life}, 0)
				d.members[w] = m
			}
			a := m.At()
			d.led.leader.Say(a)
			if t := d.led.told(&a); t != nil && m.Told(t) {
				switch goes = true; t.Do {
				case epoch.Begin:
					m.Begun(3, false, false)
				case epoch.Train:
					m.Ended(nil)
				default:
					m.Did([]byte{byte(d.n)})
				}
			}
		}
		if d.n++; d.n%7 == 0 { // in the middle of anything
			return
		}
	}
}

func (d *drawn) rates() *wire.Builder {
	return message(d.t, d.numbered(d.lowest(), wire.OpRate), wire.Rate{Factor: 1 / float64(1+d.r.IntN(4))})
}

// leave has a worker stop, or end early.
func (d *drawn) leave(early *wire.Ending) {
	w := d.some()
	if w < 0 {
		return
	}
	b := new(wire.Builder)
	b.Reset(d.header(w, wire.OpLeave))
	if early != nil {
		b = message(d.t, d.header(w, wire.OpLeave), early)
	}
	if f := d.answer(b); f.Status != wire.StatusOK {
		d.t.Fatal(f.Refusal())
	}
	d.workers[w].lives = false
	if early != nil {
		d.drop(w)
	}
}

// die has server 0 take a worker out.
func (d *drawn) die() {
	if w := d.some(); w >= 0 {
		d.drop(w)
	}
}

func (d *drawn) drop(w int) {
	l := wire.Leave{Worker: w, Life: d.workers[w].life, Why: "silent"}
	if f := d.deaths.fenceOff(l); f.Pushed {
		l.Forget = true
	}
	if d.r.IntN(3) == 0 {
		l.Rate, l.RateRound = d.rounds.rates.latest()
	}
	d.deaths.dropOff(l)
	d.workers[w].lives = false
}

func (d *drawn) gather() {
	d.gathers++
	var all sync.WaitGroup
	for w, is := range d.workers {
		if is.lives {
			msg := wire.Gather{N: d.gathers, Call: "AllGather", Data: make([]byte, d.r.IntN(3)), More: d.r.IntN(5) == 0}
			all.Go(func() { d.ask(w, wire.OpGather, msg) })
		}
	}
	all.Wait()
}

func (d *drawn) norms() {
	d.n++
	d.st.Lock()
	round := d.st.Mode.Open() + 1
	d.st.Unlock()
	if _, err := d.clipping.gather(round, 0, make([]gradient.Squares, d.clipping.params)); err != nil {
		d.t.Fatal(err)
	}
}

// cut has server 0 lead a cut of the lowest worker. Held is what it does when all servers hold.
func (d *drawn) cut(task cut.Task, held func(worker int, id string)) {
	d.n++
	worker := d.lowest()
	ask := cut.Ask{ID: fmt.Sprint("cut-", d.n), Task: task}
	for {
		var told cut.Told
		f := d.ask(worker, wire.OpCut, ask)
		if f.Status != wire.StatusOK || f.JSON(&told) != nil {
			d.t.Fatal(task.Plan(), f.Refusal())
		}
		switch {
		case told.Stage == cut.Whole:
			return
		case told.Stage == cut.Held && ask.Knows == cut.Queued:
			held(worker, ask.ID)
		}
		ask.Number, ask.Knows = told.Number, told.Stage
	}
}

// keep brings frozen values to a cut.
func (d *drawn) keep(worker int, id string) {
	keep := message(d.t, d.header(worker, wire.OpKeep), wire.Keep{ID: id})
	keep.Dense([]float32{d.r.Float32(), 3})
	if f := d.answer(keep); f.Status != wire.StatusOK {
		d.t.Fatal(f.Refusal())
	}
}

// ends has server 0 end a period.
func (d *drawn) ends() {
	d.cut(cut.Task{Shrink: unseen(uint32(1 + d.r.IntN(2)))}, nil)
}

// place saves a checkpoint of the job's own. Those of geo count the updates of workers, so that a server which comes
// back to one has another number of them.
func (d *drawn) place() {
	if d.c.Strategy.Mode == strategy.ModeGeo {
		return
	}
	d.cut(cut.Task{Save: &cut.Save{Progress: &wire.Progress{Epoch: d.n}}}, d.keep)
}

// load saves a checkpoint, and has the tables become what is in it.
func (d *drawn) load() {
	dir := d.t.TempDir()
	d.cut(cut.Task{Save: &cut.Save{Dir: dir}}, d.keep)
	d.round()
	d.cut(cut.Task{Load: &cut.Load{Dir: dir}}, nil)
}

func (d *drawn) frozen() {
	d.st.Lock()
	defer d.st.Unlock()
	if err := d.loading.frozen.set([]float32{d.r.Float32(), 2}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drawn) serve() {
	d.n++
	d.st.Lock()
	defer d.st.Unlock()
	chain := table.Chain{Base: "base", Last: fmt.Sprint("model-", d.n), Generation: fmt.Sprint(d.r.IntN(2))}
	if err := d.saving.mark(make([]table.Served, len(d.part.Store.Tables)), chain, ""); err != nil {
		d.t.Fatal(err)
	}
}

// TestAllIsRegistered: each handle that a part notes decisions by was given to it by a registration, each decision has
// one, and the law above draws it.
//
// Promise: [G6] each part registers its facts and events in its own file
func TestAllIsRegistered(t *testing.T) {
	s := newServer(t, strategy.Async())
	m := s.segments.memory
	seen, handles := map[uintptr]bool{}, map[string]int{}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Pointer()] || v.Elem().Kind() != reflect.Struct || !strings.HasPrefix(v.Elem().Type().PkgPath(), reflect.TypeFor[Server]().PkgPath()) {
				return
			}
			seen[v.Pointer()] = true
			walk(path, v.Elem())
		case reflect.Struct:
			switch name := v.Type().Name(); {
			case strings.HasPrefix(name, "Event["):
				handles[v.FieldByName("key").String()]++
			case name == "Record":
				handles[fmt.Sprint("kind ", v.FieldByName("kind").Uint())]++
			default:
				for i := range v.NumField() {
					walk(path+"."+v.Type().Field(i).Name, v.Field(i))
				}
			}
		}
	}
	walk("server", reflect.ValueOf(s))
	registered := map[string]int{}
	for key := range m.Plays {
		registered[key] = 1
	}
	if diff := cmp.Diff(registered, handles); diff != "" {
		t.Errorf("handles are not those that were registered (-registered +handles):\n%s", diff)
	}
	for key := range registered {
		if decisions[key] == nil && !slices.Contains(elsewhere, key) {
			t.Errorf("no law draws %q", key)
		}
	}
	keys := map[string]bool{}
	for _, f := range m.Facts {
		if keys[f.Key] {
			t.Errorf("fact %q is registered twice", f.Key)
		}
		keys[f.Key] = true
	}
}

// TestWhatIsNotKnownIsRefused: a base or a record of another build, with something of which this one knows nothing, is
// not half taken.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	m := newServer(t, strategy.Async()).segments.memory
	for what, err := range map[string]error{
		"a fact":   m.Resume(map[string]json.RawMessage{"mode": []byte("{}"), "tomorrow": []byte("1")}),
		"an event": m.Play(t.Context(), state.KindEvent, []byte(`{"tomorrow":{}}`)),
		"a record": m.Play(t.Context(), state.KindServed+1, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "another build") {
			t.Errorf("%s of another build is taken: %v", what, err)
		}
	}
}

// describe is all that a server has come back to.
func (s *Server) describe(t *testing.T) ([]byte, error) {
	facts := s.facts(t)
	s.st.Lock()
	defer s.st.Unlock()
	store := s.part.Store
	image := store.Image(func(string) bool { return true })
	defer image.Close()
	all := map[string]any{"machines": facts, "process": s.servers.process,
		"processes": s.servers.processes, "generation": s.st.Generation(), "step": store.Step(), "factors": store.Factors(), "chain": image.Chain}
	for _, b := range store.Blocks {
		_, state, step := b.Values.Snapshot()
		all[fmt.Sprintf("%s from %d", b.Param.Name, b.Offset)] = map[string]any{"state": state, "step": step}
	}
	for _, t := range image.Tables {
		of := map[string]any{"clock": t.Clock, "waiting": slices.Concat(t.Table.Waiters()), "gone": t.Gone}
		for row := range t.Table.Rows(store.Step()) {
			row.State, row.W = slices.Clone(row.State), nil
			of[fmt.Sprint("row ", row.ID)] = row
		}
		all[t.Table.Param().Name] = of
	}
	text, err := json.Marshal(all)
	return text, err
}
