package transporttest

import "github.com/gofleet/gofleet/transport"

// counts checks the counters of a transport that is Metered after calls that succeed and one that fails.
func counts(r *room) {
	metered, ok := r.Transport.(transport.Metered)
	if !ok {
		r.Skip("it does not count")
	}
	l := r.serve(echoes)
	before := metered.Stats()
	const calls, size = 5, 100_000
	for range calls {
		if _, err := r.ask(r.ctx, l.Endpoint(), text(size, 3)); err != nil {
			r.Fatal(err)
		}
	}
	gone := r.listen()
	if err := gone.Close(r.ctx); err != nil {
		r.Fatal(err)
	}
	_, _ = r.ask(r.ctx, gone.Endpoint(), []byte("nobody"))
	if err := l.Close(r.ctx); err != nil {
		r.Fatal(err)
	}
	s := metered.Stats()
	if s.Calls-before.Calls != calls+1 || s.Served-before.Served != calls ||
		s.Failed.Unreachable-before.Failed.Unreachable != 1 {
		r.Errorf("after %d calls that were answered and one to nobody it counts %+v", calls, s)
	}
	up, upThere := s.Sent-before.Sent, s.ServedReceived-before.ServedReceived
	down, downThere := s.Received-before.Received, s.ServedSent-before.ServedSent
	if up != upThere || down != downThere || up == 0 {
		r.Errorf("its two sides count different bytes: %+v", s)
	}
	if s.InFlight != 0 || s.InFlightBytes != 0 || s.Serving != 0 || s.ServingBytes != 0 {
		r.Errorf("nothing is under way, and it counts %+v", s)
	}
}
