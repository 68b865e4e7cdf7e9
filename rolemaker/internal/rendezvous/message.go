package rendezvous

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A message between ranks is a big-endian uint32 with its length and then JSON.
const (
	meetingVersion = 1
	maxMessage     = 4 << 20
)

// hello is the message of a rank.
type hello struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	Rank    int    `json:"rank"`
	Size    int    `json:"size"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
}

// answer is the message of rank 0: the endpoints of all ranks, or an error. Final means that another call would get no
// better answer.
type answer struct {
	Endpoints []string `json:"endpoints,omitempty"`
	Error     string   `json:"error,omitempty"`
	Final     bool     `json:"final,omitempty"`
}

func send(w io.Writer, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func receiveMessage(r io.Reader, message any) error {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(prefix[:])
	if n > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long for the rendezvous", n)
	}
	// ReadAll grows with the bytes that arrive, not with the announced length.
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	switch {
	case err != nil:
		return err
	case len(body) < int(n):
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, message)
}
