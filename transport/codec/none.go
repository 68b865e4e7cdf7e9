package codec

// none copies the message.
type none struct{}

func (none) ID() byte { return noneID }

func (none) Name() string { return "none" }

func (none) Encode(dst, src []byte) []byte { return append(dst[:0], src...) }

func (none) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src) > max {
		return nil, overBound("none", uint64(len(src)), max)
	}
	return append(dst[:0], src...), nil
}
