package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"unsafe"

	"github.com/gofleet/gofleet/transport"
)

// naiveTable is the server that one would write first: a map of rows and a mutex. A request is an op, the number of ids and the
// width, 8 bytes each, then the ids and, in a push, their gradients, as they lie in memory.
type naiveTable struct {
	mu   sync.Mutex
	rows map[uint64][]float32

	met  [2]sync.WaitGroup // after the warm-up, and at the end
	left sync.WaitGroup
}

const (
	naivePull = iota
	naivePush
	naiveMeet // answered when all workers have come
	naiveLeave
)

const naiveHead = 3

func (n *naiveTable) handle(body []byte, reply *transport.Reply) {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(body))), len(body)/8)
	ids, dim := words[naiveHead:][:words[1]], int(words[2])
	switch words[0] {
	case naivePull:
		w := make([]float32, len(ids)*dim)
		n.each(ids, dim, func(i int, row []float32) { copy(w[i*dim:], row) })
		reply.Parts = [][]byte{bytesOf(w)}
	case naivePush:
		rest := body[8*(naiveHead+len(ids)):]
		g := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(rest))), len(rest)/4)
		n.each(ids, dim, func(i int, row []float32) {
			for j, v := range g[i*dim:][:dim] {
				row[j] -= 0.01 * v
			}
		})
	case naiveMeet:
		n.met[ids[0]].Done()
		n.met[ids[0]].Wait()
	case naiveLeave:
		n.left.Done()
	}
}

// each calls do with the rows of ids; those that are missing are made.
func (n *naiveTable) each(ids []uint64, dim int, do func(i int, row []float32)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, id := range ids {
		row := n.rows[id]
		if row == nil {
			row = make([]float32, dim)
			n.rows[id] = row
		}
		do(i, row)
	}
}

// serveNaive serves until all workers have left.
func serveNaive(ctx context.Context, net transport.Transport, endpoint string, workers int) error {
	l, err := net.Listen(endpoint)
	if err != nil {
		return err
	}
	n := &naiveTable{rows: map[uint64][]float32{}}
	n.met[0].Add(workers)
	n.met[1].Add(workers)
	n.left.Add(workers)
	served := make(chan error, 1)
	go func() { served <- l.Serve(n.handle) }()
	n.left.Wait()
	return errors.Join(l.Close(ctx), <-served)
}

// runNaive is runTraffic without this library's tables, frames, clients and servers.
func runNaive(ctx context.Context, out io.Writer) error {
	var tr traffic
	if err := json.Unmarshal([]byte(os.Getenv(trafficVariable)), &tr); err != nil {
		return err
	}
	net, endpoint := &transport.FastHTTP{}, os.Getenv("PADDLE_PSERVERS_IP_PORT_LIST")
	defer net.CloseIdleConnections()
	workers, err := strconv.Atoi(os.Getenv("PADDLE_TRAINERS_NUM"))
	if err != nil {
		return err
	}
	if os.Getenv("TRAINING_ROLE") == "PSERVER" {
		if err := serveNaive(ctx, net, endpoint, workers); err != nil {
			return err
		}
		return (&timing{}).print(out)
	}
	worker, err := strconv.Atoi(os.Getenv("PADDLE_TRAINER_ID"))
	if err != nil {
		return err
	}
	c := &naiveClient{net: net, endpoint: endpoint}
	t, err := tr.trainNaive(ctx, c, worker, workers)
	if err != nil {
		return err
	}
	return t.print(out)
}

type naiveClient struct {
	net      transport.Transport
	endpoint string
}

func (c *naiveClient) call(ctx context.Context, op, dim int, ids []uint64, g, w []float32) error {
	head := []uint64{uint64(op), uint64(len(ids)), uint64(dim)}
	return c.net.Call(ctx, c.endpoint, [][]byte{bytesOf(head), bytesOf(ids), bytesOf(g)}, func(body []byte) error {
		if copy(bytesOf(w), body) != 4*len(w) {
			return fmt.Errorf("%d bytes came for %d floats", len(body), len(w))
		}
		return nil
	})
}

func (tr *traffic) trainNaive(ctx context.Context, c *naiveClient, worker, workers int) (*timing, error) {
	g, w, batches := make([]float32, tr.IDs*tr.Dim), make([]float32, tr.IDs*tr.Dim), tr.batches(worker)
	for i := range g {
		g[i] = 1e-3
	}
	control := func(op int, which ...uint64) error { return c.call(ctx, op, 0, which, nil, nil) }
	if err := c.awaitServer(ctx); err != nil {
		return nil, err
	}
	t, err := tr.measure(
		func(i int) error { return c.call(ctx, naivePull, tr.Dim, batches[i%loopBatches], nil, w) },
		func(i int) error { return c.call(ctx, naivePush, tr.Dim, batches[i%loopBatches], g, nil) },
		func() error { return control(naiveMeet, 0) },
		func() error { return nil })
	if err == nil {
		err = errors.Join(control(naiveMeet, 1), c.call(ctx, naivePull, tr.Dim, batches[0], nil, w))
	}
	if err == nil {
		err = tr.arrived(batches[0], w, workers, 1)
	}
	return t, errors.Join(err, control(naiveLeave))
}

// awaitServer asks for nothing until somebody answers.
func (c *naiveClient) awaitServer(ctx context.Context) error {
	for {
		err := c.call(ctx, naivePull, 0, nil, nil, nil)
		if !errors.Is(err, transport.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
	}
}

// bytesOf is the memory of numbers.
func bytesOf[T uint64 | float32](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}
