package wire

// Outcome is the result of a push at a server. It is in header fields of the answer that answers do not need otherwise.
type Outcome struct {
	Applied uint32 // rows
	Dropped uint64 // rows that an entry policy did not admit, or that a budget had no room for
	On      uint64 // version of the weights that it was applied to
	Again   bool   // the push had been counted before
}

// SetOutcome sets the outcome of a push in the header of its answer.
func (h *Header) SetOutcome(o Outcome) {
	h.Samples, h.Acked, h.Round = o.Applied, o.Dropped, o.On<<1
	if o.Again {
		h.Round |= 1
	}
}

// Outcome is the outcome of a push in the header of its answer.
func (h *Header) Outcome() Outcome {
	return Outcome{Applied: h.Samples, Dropped: h.Acked, On: h.Round >> 1, Again: h.Round&1 == 1}
}
