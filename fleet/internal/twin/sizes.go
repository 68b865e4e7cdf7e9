package twin

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// listed counts the ids of a table in a worker's requests, and their bytes.
type listed struct{ ids, bytes float64 }

// list adds the ids of a step's or an evaluation's request to those of each param, but for ids that it reads beside
// the loss. It reads the frame itself: a header of 64 bytes, parts, and sections of a head and a payload each.
func list(req [][]byte, of map[int]*listed) {
	const header, head, beside = 64, 16, 8
	le, all := binary.LittleEndian, []byte(behindEnvelope(req))
	if len(all) < header || string(all[:4]) != "gfl1" {
		return
	}
	if op := wire.Op(all[5]); op != wire.OpStep && op != wire.OpPeek {
		return
	}
	for at := header + 8*int(all[7]); at+head <= len(all); {
		section := all[at:]
		size := int(le.Uint64(section[8:]))
		if size < 0 || size > len(section)-head {
			return // it is no frame
		}
		switch wire.Kind(section[0]) {
		case wire.KindIDs, wire.KindRows:
			if section[1]&beside != 0 {
				break
			}
			param := int(le.Uint32(section[4:]))
			if of[param] == nil {
				of[param] = &listed{}
			}
			of[param].ids += float64(le.Uint32(section[head:]))
			of[param].bytes += float64(le.Uint32(section[head+4:]))
		}
		at += head + (size+7)/8*8
	}
}

// idle says whether a request is an evaluation's that asks for no row.
func idle(req [][]byte) bool {
	f, ok := frameOf(req)
	rows := func(s wire.Section) bool { return s.Kind == wire.KindIDs }
	return ok && f.Op == wire.OpPeek && !slices.ContainsFunc(f.Sections, rows)
}

// legible says whether it can be read what the workers of a leg send to servers, each request once.
func (l Leg) legible() bool {
	return l.Servers > 0 && l.Strategy.Codec == "" && l.Strategy.MaxFrame == 0 && !l.mortal() && !l.returns()
}

// sized says whether a leg's steps have gradients of full width, and a push of so many steps.
func (l Leg) sized() bool {
	return l.legible() && l.kind() == string(strategy.ModeSync) && l.Strategy.Payload == ""
}

// idles says where evaluations have asked servers for nothing: those that have no dense weights, for no rows.
func (r *role) idles(at string) error {
	if !r.l.legible() {
		return nil
	}
	e, err := r.f.Explain(nil)
	if err != nil {
		return err
	}
	r.trips.mu.Lock()
	defer r.trips.mu.Unlock()
	for i, s := range e.Servers {
		if n := r.trips.idle[fmt.Sprintf("server-%d:1", i)]; s.Floats == 0 && n > 0 {
			r.differs("%s: server %d, which has no dense weights, was asked for nothing %d times", at, i, n)
		}
	}
	return nil
}

// sized compares the bytes that Explain says an id takes with those that ids took in this worker's requests.
func (r *role) sized(at string) error {
	if !r.l.sized() {
		return nil
	}
	pushed := func(ids map[string]int) (n float64, err error) {
		e, err := r.f.Explain(ids)
		if err != nil {
			return 0, err
		}
		for _, s := range e.Servers {
			n += s.Pushed
		}
		return n, nil
	}
	r.trips.mu.Lock()
	defer r.trips.mu.Unlock()
	for i, p := range r.g.loss.Params() {
		took := r.trips.lists[i]
		if took == nil || took.ids == 0 {
			continue
		}
		n := 1 << 18 / p.Dim() // twice as many are in one frame
		once, err := pushed(map[string]int{p.Name: n})
		if err != nil {
			return err
		}
		twice, err := pushed(map[string]int{p.Name: 2 * n})
		if err != nil {
			return err
		}
		// each step asks for rows by their ids, and each push has ids and gradients
		pushes := 1 / float64(max(1, r.l.Strategy.GradientMerge.KSteps))
		got := (twice - once - pushes*float64(4*n*p.Dim())) / (float64(n) * (1 + pushes))
		if want := took.bytes / took.ids; math.Abs(got-want) > 0.01+48/float64(n) { // sections are filled up to 8 bytes
			r.differs("%s: an id of %s took %.3f bytes, explained are %.3f", at, p.Name, want, got)
		}
	}
	return nil
}
