package transport_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// A server and a worker meet on a network in memory. The same lines work with &transport.FastHTTP{} and "127.0.0.1:0".
func Example() {
	ctx := context.Background()
	net := transport.NewMemory()

	l, err := net.Listen("server-0:6001")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			reply.Parts = [][]byte{[]byte("you said "), []byte(strings.ToUpper(string(req)))}
		})
	}()

	err = net.Call(ctx, "server-0:6001", [][]byte{[]byte("push "), []byte("wide")}, func(body []byte) error {
		fmt.Printf("%s\n", body)
		return nil
	})
	fmt.Println(err, l.Close(ctx), <-served)

	err = net.Call(ctx, "server-0:6001", nil, nil)
	fmt.Println(errors.Is(err, transport.ErrUnreachable))
	// Output:
	// you said PUSH WIDE
	// <nil> <nil> <nil>
	// true
}

// Messages shrink on their way. Every process wraps its transport; each may choose its own codec.
func ExampleCompressed() {
	c, err := codec.ByName("s2")
	if err != nil {
		fmt.Println(err)
		return
	}
	net := transport.Compressed(&transport.FastHTTP{}, c, 64<<20)
	l, err := net.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) { reply.Parts = [][]byte{make([]byte, len(req))} })
	}()
	err = net.Call(context.Background(), l.Endpoint(), [][]byte{make([]byte, 1<<20)}, func(body []byte) error {
		fmt.Println(len(body))
		return nil
	})
	fmt.Println(err, l.Close(context.Background()), <-served)
	// Output:
	// 1048576
	// <nil> <nil> <nil>
}

// Three machines get one directory; each process then runs with FLEET_TLS_DIR set to its copy.
func ExampleCA_WriteDir() {
	dir, err := os.MkdirTemp("", "fleet-tls")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ca, err := transport.NewCA(30 * 24 * time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ca.WriteDir(dir, "10.0.0.7", "10.0.0.8", "trainer.example"))
	l, err := (&transport.FastHTTP{TLSDir: dir}).Listen("127.0.0.1:0")
	fmt.Println(err, l.Close(context.Background()))
	// Output:
	// <nil>
	// <nil> <nil>
}

// A server counts whom it turned away, and why. The value is made for a log too: slog.Info("transport", "stats", t.Stats()).
func ExampleStats() {
	server := &transport.FastHTTP{Token: "secret", Cluster: "ads"}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
	for _, client := range []*transport.FastHTTP{
		{Token: "secret", Cluster: "ads"}, {Token: "guess", Cluster: "ads"}, {Token: "secret", Cluster: "news"},
	} {
		err := client.Call(context.Background(), l.Endpoint(), [][]byte{make([]byte, 1000)}, func([]byte) error { return nil })
		fmt.Println(errors.Is(err, transport.ErrRefused))
		client.CloseIdleConnections()
	}
	fmt.Println(l.Close(context.Background()), <-served)
	s := server.Stats()
	fmt.Println(s.Served, s.ServedReceived, s.Refused.Token, s.Refused.Cluster)
	// Output:
	// false
	// true
	// true
	// <nil> <nil>
	// 1 1000 1 1
}
