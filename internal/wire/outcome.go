package wire

// Outcome is what became of a push at a server. The header of its answer has it in fields that answers do not need
// otherwise.
type Outcome struct {
	Applied uint32 // rows
	Dropped uint64 // rows that an entry policy did not admit, or that a budget had no room for
	On      uint64 // version of the weights that it was applied to
	Again   bool   // the push had been counted before
}

// SetOutcome puts what became of a push into the header of its answer.
func (h *Header) SetOutcome(o Outcome) {
	h.Samples, h.Acked, h.Round = o.Applied, o.Dropped, o.On<<1
	if o.Again {
		h.Round |= 1
	}
}

// Outcome is what the answer to a push says of it.
func (h *Header) Outcome() Outcome {
	return Outcome{Applied: h.Samples, Dropped: h.Acked, On: h.Round >> 1, Again: h.Round&1 == 1}
}
