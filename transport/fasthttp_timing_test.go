package transport_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gofleet/gofleet/transport"
	"github.com/valyala/fasthttp"
)

// The figure to compare with is a fasthttp client and server with nothing of ours around them, moving the same bytes.

func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("bare/%d", size), func(b *testing.B) { benchBare(b, size, size) })
		b.Run(fmt.Sprintf("ours/%d", size), func(b *testing.B) { benchOurs(b, "127.0.0.1:0", size, size) })
	}
	b.Run("unix/64", func(b *testing.B) { benchOurs(b, "unix:"+b.TempDir()+"/s", 64, 64) })
}

func BenchmarkPush(b *testing.B) {
	b.Run("bare/4MB", func(b *testing.B) { benchBare(b, 4<<20, 64) })
	b.Run("ours/4MB", func(b *testing.B) { benchOurs(b, "127.0.0.1:0", 4<<20, 64) })
}

func BenchmarkPull(b *testing.B) {
	b.Run("bare/4MB", func(b *testing.B) { benchBare(b, 64, 4<<20) })
	b.Run("ours/4MB", func(b *testing.B) { benchOurs(b, "127.0.0.1:0", 64, 4<<20) })
}

func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{64, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { bench(b, transport.NewMemory(), "server:0", size, size) })
	}
}

func benchOurs(b *testing.B, endpoint string, up, down int) {
	bench(b, &transport.FastHTTP{}, endpoint, up, down)
}

func bench(b *testing.B, t transport.Transport, endpoint string, up, down int) {
	l, err := t.Listen(endpoint)
	if err != nil {
		b.Fatal(err)
	}
	answer := [][]byte{make([]byte, down)}
	done := make(chan error)
	go func() {
		done <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = answer })
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	req := [][]byte{make([]byte, 16), make([]byte, up-16)}
	check := func(body []byte) error {
		if len(body) != down {
			return fmt.Errorf("%d bytes", len(body))
		}
		return nil
	}
	b.SetBytes(int64(max(up, down)))
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Call(ctx, l.Endpoint(), req, check); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(ctx); err != nil {
		b.Fatal(err)
	}
	<-done
}

func benchBare(b *testing.B, up, down int) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, down)
	server := fasthttp.Server{
		Handler:               func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(answer) },
		MaxRequestBodySize:    1 << 30,
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}
	done := make(chan error)
	go func() { done <- server.Serve(ln) }()
	client := fasthttp.HostClient{Addr: ln.Addr().String(), MaxResponseBodySize: 1 << 30,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	body := make([]byte, up)
	b.SetBytes(int64(max(up, down)))
	b.ReportAllocs()
	for b.Loop() {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.Header.SetMethod(fasthttp.MethodPost)
		req.SetRequestURI("http://x/")
		req.SetBodyRaw(body)
		if err := client.Do(req, resp); err != nil || len(resp.Body()) != down {
			b.Fatal(err, len(resp.Body()))
		}
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	client.CloseIdleConnections()
	_ = ln.Close()
	<-done
}
