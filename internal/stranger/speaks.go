package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// speaks sends frames of workers and servers without the job's secrets: to receive its fingerprint, to remove workers,
// to hold pushes, to write files elsewhere, and to fill memory.
func (s *stranger) speaks() error {
	c, err := codec.ByName(s.codec)
	if err != nil {
		return err
	}
	fast := &transport.FastHTTP{}
	defer fast.CloseIdleConnections()
	t := transport.Compressed(fast, c, 0)
	for op, all := range speeches() {
		for _, msg := range all {
			for worker := range uint32(2) {
				s.count(fmt.Sprintf("%v: %s", op, s.say(t, wire.Header{Op: op, Worker: worker, Life: 1, Seq: 1,
					Samples: 1}, msg)))
			}
		}
	}
	ones := make([]float32, 6<<20)
	for seq := range uint64(70) {
		s.count("piece: " + s.say(t, wire.Header{Op: wire.OpPiece, Life: 1, Seq: seq, Samples: 1}, ones))
	}
	return nil
}

// speeches are the messages of each kind that are sent.
func speeches() map[wire.Op][]any {
	leave := wire.Leave{Life: 1, Forget: true}
	return map[wire.Op][]any{
		wire.OpHello: {wire.Hello{Process: 1}},
		wire.OpJoin:  {wire.Hello{Process: 1}, wire.Hello{Process: 1, Fingerprint: []string{"x"}}},
		wire.OpReport: {wire.Report{Process: 1}, wire.Report{Server: 1, Process: 1, Ends: true,
			Status: wire.StatusBack}},
		wire.OpFence: {leave}, wire.OpDrop: {leave}, wire.OpLeave: {leave, nil},
		wire.OpServe: {wire.Serve{Cut: "1", Before: wire.Chain{Base: "x", Last: "x"}}},
		wire.OpCut: {cutting{ID: "x", Plan: []string{"write", "commit"}, Dir: "/tmp/evil"},
			cutting{ID: "y", Plan: []string{"end"}}, cutting{ID: "z", Plan: []string{"read", "take"}}},
		wire.OpOrder:  {ordering{1, "hold", []string{"end"}}, ordering{1, "end", nil}, ordering{1 << 60, "free", nil}},
		wire.OpGather: {wire.Gather{N: 1, Call: "barrier", Data: make([]byte, 24<<20)}},
		wire.OpNorms:  {wire.Norms{}}, wire.OpRate: {wire.Rate{Factor: 1e9}}, wire.OpScan: {wire.Scan{Rows: 1 << 30}},
		wire.OpPeek: {nil}, wire.OpPark: {nil}, wire.OpHeartbeat: {nil},
	}
}

// cutting and ordering are a worker's request to server 0, and server 0's to servers, about a cut.
type cutting struct {
	ID   string   `json:"id"`
	Plan []string `json:"plan"`
	Dir  string   `json:"dir"`
}

type ordering struct {
	Number uint64   `json:"number"`
	Work   string   `json:"work"`
	Plan   []string `json:"plan"`
}

// say sends a frame with a message, floats or nothing, and returns the server's answer.
func (s *stranger) say(t transport.Transport, h wire.Header, msg any) (answer string) {
	var b wire.Builder
	b.Reset(h)
	switch msg := msg.(type) {
	case nil:
	case []float32:
		b.Piece(wire.Piece{Number: 0, Of: 3})
		b.Dense(msg)
	default:
		if err := b.JSON(msg); err != nil {
			return err.Error()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := t.Call(ctx, s.to, b.Parts(), func(body []byte) error {
		var f wire.Frame
		if err := f.Parse(bytes.Clone(body)); err != nil {
			return err
		}
		if answer = "done!"; f.Refusal() != nil {
			answer = f.Refusal().Error()
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("%.150s", err)
	}
	return fmt.Sprintf("%.150s", answer)
}
